// The panel below the timeline: the selected slice with all that belongs to it, or the statistics of a range.

import { element } from "../lib/dom.js";
import { duration, grouped } from "../lib/units.js";
import { around } from "./links.js";
import { statistics } from "./statistics.js";

/** @typedef {import("./data.js").Timeline} Timeline */
/** @typedef {import("./state.js").Place} Place */
/** @typedef {import("./state.js").State} State */

/** So many of one sort are listed. */
const MOST_LISTED = 12;

/**
 * @param {HTMLElement} panel
 * @param {Timeline} timeline
 * @param {Place} place
 * @param {State} state
 * @param {(place: Place) => void} go
 */
export function describeSlice(panel, timeline, place, state, go) {
  const track = timeline.tracks[place.track];
  const lane = track.lanes[place.lane];
  const name = timeline.names[lane.name[place.index]];
  const [start, end] = [lane.start[place.index], lane.end[place.index]];
  const note = timeline.notes[lane.note[place.index]];
  const slice = lane.first + place.index;
  /** @type {(title: string, places: Place[]) => Node[]} */
  const listed = (title, places) => {
    if (!places.length) return [];
    const items = places.slice(0, MOST_LISTED).map((place) => element("li", {}, button(timeline, place, go)));
    if (places.length > MOST_LISTED) items.push(element("li", {}, `and ${places.length - MOST_LISTED} more`));
    return [element("h3", {}, title), element("ul", {}, ...items)];
  };
  panel.replaceChildren(
    element("h2", { class: "mono" }, name),
    element(
      "p",
      {},
      exact(end - start),
      " from ",
      exact(start),
      " to ",
      exact(end),
      ` · ${track.group} · ${track.title}`,
    ),
    ...(note ? [element("p", { class: "mono soft" }, note)] : []),
    ...listed("Launched by", state.links.filter(([, to]) => isSlice(timeline, to, slice)).map(([from]) => from)),
    ...listed("Launched", state.links.filter(([from]) => isSlice(timeline, from, slice)).map(([, to]) => to)),
    ...listed("Inside", around(timeline, place)),
  );
}

/** @param {Timeline} timeline @param {Place} place @param {number} slice */
function isSlice(timeline, place, slice) {
  return timeline.tracks[place.track].lanes[place.lane].first + place.index === slice;
}

/** @param {Timeline} timeline @param {Place} place @param {(place: Place) => void} go */
function button(timeline, place, go) {
  const lane = timeline.tracks[place.track].lanes[place.lane];
  const long = duration(lane.end[place.index] - lane.start[place.index]);
  const made = element("button", { type: "button", class: "link mono" }, timeline.names[lane.name[place.index]]);
  made.addEventListener("click", () => go(place));
  return element("span", {}, made, ` ${long}`);
}

/** A length of time, to the nanosecond on hover. @param {number} ns */
function exact(ns) {
  return element("span", { title: `${grouped(ns)} ns` }, duration(ns));
}

/**
 * @param {HTMLElement} panel
 * @param {Timeline} timeline
 * @param {[number, number]} range
 */
export function describeRange(panel, timeline, range) {
  const blocks = statistics(timeline, range).map(({ sort, count, total, union, top }) => {
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
