// Where slices come from when all of them are in the page: what is asked about them is answered here.

import { locate } from "./data.js";
import { around, linksOf } from "./links.js";
import { countHits, matching, nextHit } from "./search.js";
import { statistics } from "./statistics.js";

/** @typedef {import("./data.js").Timeline} Timeline */

/** @typedef {{number: number, name: string, start: number, end: number, track: number, lane: number}} Slice */

/**
 * A slice with all that belongs to it.
 * @typedef {{slice: Slice, note: string, launchedBy: Slice[], launched: Slice[], around: Slice[]}} Described
 */

/** @typedef {{names: Set<number>, count: number, total: number}} Found */

/**
 * What the page asks; `Served` asks a server in turn.
 * @typedef {object} Source
 * @property {(state: import("./state.js").State, layout: import("./layout.js").Layout) => void} prepare
 * @property {(number: number) => Promise<Described | null>} describe
 * @property {(text: string) => Promise<Found | null>} find
 * @property {(text: string, from: {time: number, number: number}, direction: 1 | -1) => Promise<number | null>} next
 * @property {(range: [number, number]) => Promise<import("./statistics.js").Statistics[]>} statistics
 */

/** @implements {Source} */
export class Embedded {
  /** @param {Timeline} timeline */
  constructor(timeline) {
    this.timeline = timeline;
  }

  /** All that can come into sight is here. */
  prepare() {}

  /** @param {number} number @returns {Promise<Described | null>} */
  async describe(number) {
    const place = locate(this.timeline, number);
    if (!place) return null;
    const slice = this.slice(number);
    const lane = this.timeline.tracks[place.track].lanes[place.lane];
    const links = linksOf(this.timeline, number);
    return {
      slice,
      note: this.timeline.notes[lane.note[place.index]],
      launchedBy: links.filter(([, to]) => to === number).map(([from]) => this.slice(from)),
      launched: links.filter(([from]) => from === number).map(([, to]) => this.slice(to)),
      around: around(this.timeline, place).map((number) => this.slice(number)),
    };
  }

  /** @param {number} number @returns {Slice} */
  slice(number) {
    const place = locate(this.timeline, number);
    if (!place) throw new Error(`there is no slice ${number}`);
    const { track, lane, index } = place;
    const { name, start, end } = this.timeline.tracks[track].lanes[lane];
    return { number, name: this.timeline.names[name[index]], start: start[index], end: end[index], track, lane };
  }

  /** @param {string} text @returns {Promise<Found | null>} */
  async find(text) {
    const names = matching(this.timeline, text);
    return names && { names, ...countHits(this.timeline, names) };
  }

  /** @param {string} text @param {{time: number, number: number}} from @param {1 | -1} direction */
  async next(text, { time, number }, direction) {
    const names = matching(this.timeline, text);
    return names && nextHit(this.timeline, names, time, number, direction);
  }

  /** @param {[number, number]} range */
  async statistics(range) {
    return statistics(this.timeline, range);
  }
}
