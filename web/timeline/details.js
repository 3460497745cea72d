// The panel below the timeline: the selected slice with all that belongs to it, or the statistics of a range.

import { element } from "../lib/dom.js";
import { duration, grouped } from "../lib/units.js";

/** @typedef {import("./data.js").Timeline} Timeline */
/** @typedef {import("./source.js").Slice} Slice */

/** So many of one sort are listed. */
const MOST_LISTED = 12;

/**
 * @param {HTMLElement} panel
 * @param {Timeline} timeline
 * @param {import("./source.js").Described} described
 * @param {(slice: Slice) => void} go
 */
export function describeSlice(panel, timeline, { slice, note, launchedBy, launched, around }, go) {
  const track = timeline.tracks[slice.track];
  /** @type {(title: string, slices: Slice[]) => Node[]} */
  const listed = (title, slices) => {
    if (!slices.length) return [];
    const items = slices.slice(0, MOST_LISTED).map((slice) => element("li", {}, button(slice, go)));
    if (slices.length > MOST_LISTED) items.push(element("li", {}, `and ${slices.length - MOST_LISTED} more`));
    return [element("h3", {}, title), element("ul", {}, ...items)];
  };
  panel.replaceChildren(
    element("h2", { class: "mono" }, slice.name),
    element(
      "p",
      {},
      exact(slice.end - slice.start),
      " from ",
      exact(slice.start),
      " to ",
      exact(slice.end),
      ` · ${track.group} · ${track.title}`,
    ),
    ...(note ? [element("p", { class: "mono soft" }, note)] : []),
    ...listed("Launched by", launchedBy),
    ...listed("Launched", launched),
    ...listed("Inside", around),
  );
}

/** @param {Slice} slice @param {(slice: Slice) => void} go */
function button(slice, go) {
  const made = element("button", { type: "button", class: "link mono" }, slice.name);
  made.addEventListener("click", () => go(slice));
  return element("span", {}, made, ` ${duration(slice.end - slice.start)}`);
}

/** A length of time, to the nanosecond on hover. @param {number} ns */
function exact(ns) {
  return element("span", { title: `${grouped(ns)} ns` }, duration(ns));
}

/**
 * @param {HTMLElement} panel
 * @param {[number, number]} range
 * @param {import("./statistics.js").Statistics[]} found
 */
export function describeRange(panel, range, found) {
  const blocks = found.map(({ sort, count, total, union, top }) => {
    const rows = top.map(({ name, count, total }) =>
      element(
        "tr",
        {},
        element("td", { class: "mono" }, name),
        element("td", { class: "n" }, grouped(count)),
        element("td", { class: "n" }, exact(total)),
      ),
    );
    const share = ((union / (range[1] - range[0])) * 100).toFixed(1);
    return element(
      "section",
      {},
      element("h3", {}, sort === "gpu" ? "On GPUs" : "On host threads"),
      element(
        "p",
        {},
        `${grouped(count)} events · `,
        exact(total),
        " summed · ",
        exact(union),
        ` covered (${share} %)`,
      ),
      element("table", {}, element("tbody", {}, ...rows)),
    );
  });
  panel.replaceChildren(
    element("h2", {}, `${duration(range[1] - range[0])} from ${duration(range[0])} to ${duration(range[1])}`),
    element("div", { class: "columns" }, ...blocks),
  );
}
