// What a range holds: for host and GPU apart, how many slices, their time, and the names that take most of it.

import { firstAfter } from "./data.js";

/** @typedef {import("./data.js").Timeline} Timeline */

/**
 * @typedef {object} Statistics
 * @property {string} sort
 * @property {number} count
 * @property {number} total ns, summed
 * @property {number} union ns in which anything of it ran
 * @property {{name: string, count: number, total: number}[]} top
 */

/**
 * @param {Timeline} timeline
 * @param {[number, number]} range
 * @returns {Statistics[]}
 */
export function statistics(timeline, [from, to]) {
  return ["gpu", "host"].map((sort) => {
    const tracks = timeline.tracks.filter((track) => track.sort === sort);
    /** @type {Map<number, {count: number, total: number}>} */
    const names = new Map();
    /** @type {[number, number][]} */
    const spans = [];
    let count = 0;
    let total = 0;
    for (const track of tracks) {
      track.lanes.forEach((lane, depth) => {
        for (let i = firstAfter(lane.end, from); i < lane.count && lane.start[i] < to; i++) {
          const begin = Math.max(lane.start[i], from);
          const end = Math.min(lane.end[i], to);
          const known = names.get(lane.name[i]) ?? { count: 0, total: 0 };
          known.count++;
          known.total += end - begin;
          names.set(lane.name[i], known);
          count++;
          // What is inside another slice of its thread adds nothing to the time that passed.
          if (sort === "gpu" || depth === 0) total += end - begin;
          if (sort === "gpu" || depth === 0) spans.push([begin, end]);
        }
      });
    }
    const top = [...names]
      .sort((a, b) => b[1].total - a[1].total)
      .slice(0, 5)
      .map(([name, { count, total }]) => ({ name: timeline.names[name], count, total }));
    return { sort, count, total, union: covered(spans), top };
  });
}

/** @param {[number, number][]} spans */
function covered(spans) {
  spans.sort((a, b) => a[0] - b[0]);
  let sum = 0;
  let until = -Infinity;
  for (const [from, to] of spans) {
    if (to > until) sum += to - Math.max(from, until);
    until = Math.max(until, to);
  }
  return sum;
}
