// A page whose answer is still being worked out: how far it is, and then the answer in its place.

import { byteSize } from "../lib/units.js";

/** @param {HTMLElement} place */
export function follow(place) {
  const bar = place.querySelector("progress");
  const said = place.querySelector("span");
  const events = new EventSource(location.href);
  events.addEventListener("progress", (event) => {
    const { read_bytes: read, total_bytes: total } = JSON.parse(event.data);
    if (!bar || !said || !total) return;
    bar.value = read / total;
    said.textContent = read < total ? `${byteSize(read)} of ${byteSize(total)} read` : "read; working out the answer";
  });
  events.addEventListener("done", (event) => {
    events.close();
    const { ok, detail } = JSON.parse(event.data);
    if (ok) {
      location.reload();
      return;
    }
    // Asked again, it would fail again, and take as long.
    bar?.remove();
    place.classList.add("error");
    place.textContent = detail;
  });
}
