// A page whose answer is still being worked out: how far it is, and then the answer in its place.

import { byteSize } from "../lib/units.js";

const WORKING = "working out the answer";
const UNHEARD = "The server does not tell how far the answer is; load this page again to ask for it.";

/** @param {HTMLElement} place */
export function follow(place) {
  const bar = place.querySelector("progress");
  const said = place.querySelector("span");
  const events = new EventSource(location.href);
  /** Asked again by itself, what failed would fail again, and take as long. @param {string} detail */
  const fail = (detail) => {
    events.close();
    place.classList.add("error");
    place.textContent = detail;
  };
  events.addEventListener("progress", (event) => {
    const { read_bytes: read, total_bytes: total } = JSON.parse(event.data);
    if (!bar || !said) return;
    // Without a value, the bar moves by itself.
    if (total) bar.value = read / total;
    if (!total) said.textContent = WORKING;
    else said.textContent = read < total ? `${byteSize(read)} of ${byteSize(total)} read` : `read; ${WORKING}`;
  });
  events.addEventListener("done", (event) => {
    events.close();
    const { ok, detail } = JSON.parse(event.data);
    if (ok) location.reload();
    else fail(detail);
  });
  // A stream that broke off begins anew by itself; one that was refused does not.
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED) fail(UNHEARD);
  });
}
