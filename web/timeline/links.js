// What belongs to a slice: what it launched or what launched it, and what is around it on its thread.

import { firstAfter } from "./data.js";

/** @typedef {import("./data.js").Timeline} Timeline */
/** @typedef {import("./state.js").Place} Place */

/** A slice may launch thousands, as a graph does; more arrows than this say no more. */
const MOST_ARROWS = 200;

/**
 * Arrows that begin or end at a slice, by numbers.
 * @param {Timeline} timeline
 * @param {number} slice
 * @returns {[number, number][]}
 */
export function linksOf(timeline, slice) {
  /** @type {[number, number][]} */
  const links = [];
  const { arrowFrom, arrowTo } = timeline;
  for (let i = 0; i < arrowTo.length && links.length < MOST_ARROWS; i++) {
    if (arrowFrom[i] === slice || arrowTo[i] === slice) links.push([arrowFrom[i], arrowTo[i]]);
  }
  return links;
}

/**
 * Slices around one, by numbers, outermost first: Python frames, modules, operators.
 * @param {Timeline} timeline
 * @param {Place} place
 * @returns {number[]}
 */
export function around(timeline, { track, lane, index }) {
  const lanes = timeline.tracks[track].lanes;
  if (timeline.tracks[track].sort !== "host") return [];
  const [start, end] = [lanes[lane].start[index], lanes[lane].end[index]];
  /** @type {number[]} */
  const found = [];
  for (let outer = 0; outer < lane; outer++) {
    const at = firstAfter(lanes[outer].end, start);
    if (at < lanes[outer].count && lanes[outer].start[at] <= start && lanes[outer].end[at] >= end) {
      found.push(lanes[outer].first + at);
    }
  }
  return found;
}
