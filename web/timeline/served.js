// Where slices come from when a server holds them: the page has cells of what is in sight, as fine as its pixels, and
// of the whole run, as fine as there is room; everything else is asked for.

import { inflate, Varints } from "../lib/packed.js";
import { peaksOf } from "./data.js";
import { GUTTER } from "./layout.js";

/** @typedef {import("./data.js").Counter} Counter */
/** @typedef {import("./data.js").Lane} Lane */
/** @typedef {import("./source.js").Described} Described */
/** @typedef {import("./source.js").Slice} Slice */

/** What is fetched lies so many screens to both sides. */
const BESIDE = 0.5;
/** Cells of the whole run. */
const OVERVIEW = 2048;

/** @typedef {Pick<Lane, "start" | "end" | "before" | "name" | "kind">} Columns */
/** @typedef {Columns & {numbers: Uint32Array, many: Uint32Array}} Cells */
/** @typedef {{time: Float64Array, value: Float64Array, peaks: Float64Array}} Points */
/** @typedef {{from: number, to: number, bucket: number}} Sight */
/** @typedef {Sight & {lanes: Map<number, Cells>, counters: Map<number, Points>}} Window */

export class Served {
  /**
   * @param {import("./data.js").Timeline} timeline
   * @param {() => void} redraw
   */
  constructor(timeline, redraw) {
    this.timeline = timeline;
    this.redraw = redraw;
    const whole = { from: 0, to: timeline.length + 1, bucket: Math.max(1, Math.ceil(timeline.length / OVERVIEW)) };
    this.overview = emptyWindow(whole);
    this.detail = emptyWindow(whole);
    this.busy = false;
    /** Said once the server cannot be reached. */
    this.lost = () => {};
  }

  /** True while something is on its way, for tests. */
  get waiting() {
    return this.busy;
  }

  /**
   * Gives every lane in sight the finest cells there are, and asks for finer ones.
   * @param {import("./state.js").State} state
   * @param {import("./layout.js").Layout} layout
   */
  prepare(state, layout) {
    const pixel = (state.to - state.from) / Math.max(state.width - GUTTER, 1);
    const bucket = 2 ** Math.max(0, Math.floor(Math.log2(pixel)));
    const { lanes, counters } = this.inSight(state, layout);
    const whole = this.timeline.length + 1;
    // Beyond both ends there is nothing to be had.
    const covers = this.detail.from <= Math.max(state.from, 0) && this.detail.to >= Math.min(state.to, whole);
    for (const lane of lanes) this.give(lane, covers);
    for (const track of counters) this.count(track, covers);
    const room = (state.to - state.from) * BESIDE;
    const from = Math.max(0, Math.floor((state.from - room) / bucket) * bucket);
    const to = Math.min(whole, Math.ceil((state.to + room) / bucket) * bucket);
    const fine = bucket < this.overview.bucket;
    if (!this.has(this.overview, lanes, counters)) this.fetch(this.overview, lanes, counters);
    else if (fine && (!covers || this.detail.bucket !== bucket)) {
      this.fetch(emptyWindow({ from, to, bucket }), lanes, counters);
    } else if (fine && !this.has(this.detail, lanes, counters)) this.fetch(this.detail, lanes, counters);
  }

  /**
   * Lanes by their number, and tracks of counters.
   * @param {import("./state.js").State} state
   * @param {import("./layout.js").Layout} layout
   */
  inSight(state, layout) {
    /** @type {number[]} */
    const lanes = [];
    /** @type {number[]} */
    const counters = [];
    for (const placed of layout.placed) {
      const top = placed.top - state.scroll;
      if (top + placed.height < 0 || top > state.height) continue;
      const track = this.timeline.tracks[placed.track];
      if (track.counter) counters.push(placed.track);
      for (let lane = 0; lane < placed.lanes; lane++) lanes.push(track.lanes[lane].number);
    }
    return { lanes, counters };
  }

  /** @param {Window} window @param {number[]} lanes @param {number[]} counters */
  has(window, lanes, counters) {
    return lanes.every((lane) => window.lanes.has(lane)) && counters.every((track) => window.counters.has(track));
  }

  /** @param {number} number @param {boolean} covers */
  give(number, covers) {
    const cells = (covers && this.detail.lanes.get(number)) || this.overview.lanes.get(number);
    if (!cells) return;
    const { track, lane } = this.timeline.places[number];
    Object.assign(this.timeline.tracks[track].lanes[lane], cells, { count: cells.start.length });
  }

  /** @param {number} track @param {boolean} covers */
  count(track, covers) {
    const points = (covers && this.detail.counters.get(track)) || this.overview.counters.get(track);
    if (points) Object.assign(/** @type {Counter} */ (this.timeline.tracks[track].counter), points);
  }

  /**
   * One request at a time; what is in sight by then is asked for next.
   * @param {Window} window
   * @param {number[]} lanes
   * @param {number[]} counters
   */
  async fetch(window, lanes, counters) {
    if (this.busy) return;
    this.busy = true;
    const wanted = lanes.filter((lane) => !window.lanes.has(lane));
    const counted = counters.filter((track) => !window.counters.has(track));
    const { from, to, bucket } = window;
    try {
      const asked = { from, to, bucket, lanes: wanted.join(), counters: counted.join() };
      const response = await this.ask("window", asked);
      read(await inflate(new Uint8Array(await response.arrayBuffer())), window, wanted, counted);
      if (window !== this.overview) this.detail = window;
    } catch {
      this.lost();
      return;
    } finally {
      this.busy = false;
    }
    this.redraw();
  }

  /**
   * @param {string} what
   * @param {Record<string, string | number | boolean>} about
   */
  async ask(what, about) {
    const words = Object.entries(about).map(([name, value]) => [name, String(value)]);
    const response = await fetch(`${what}?${new URLSearchParams(words)}`);
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
    return response;
  }

  /** @param {number} number @returns {Promise<Described | null>} */
  async describe(number) {
    if (number >= this.timeline.slices) return null;
    const found = await (await this.ask("slice", { number })).json();
    return {
      slice: slice(found.slice),
      note: found.note,
      launchedBy: found.launched_by.map(slice),
      launched: found.launched.map(slice),
      around: found.around.map(slice),
    };
  }

  /** @param {string} text */
  async find(text) {
    if (!text.trim()) return null;
    const { names, count, total_ns } = await (await this.ask("find", { text })).json();
    return { names: new Set(/** @type {number[]} */ (names)), count, total: total_ns };
  }

  /** @param {string} text @param {{time: number, number: number}} from @param {1 | -1} direction */
  async next(text, { time, number }, direction) {
    const at = Number.isFinite(time) ? time : direction > 0 ? -1 : this.timeline.length + 1;
    const about = { text, time: at, number: Math.max(number, 0), forward: direction > 0 };
    return /** @type {number | null} */ (await (await this.ask("next", about)).json());
  }

  /** @param {[number, number]} range */
  async statistics([from, to]) {
    const found = await (await this.ask("range", { from: Math.round(from), to: Math.round(to) })).json();
    return found.map((/** @type {any} */ { sort, count, total_ns, union_ns, top }) => ({
      sort,
      count,
      total: total_ns,
      union: union_ns,
      top: top.map((/** @type {any} */ { name, count, total_ns }) => ({ name, count, total: total_ns })),
    }));
  }
}

/** @param {any} found @returns {Slice} */
function slice({ number, name, start_ns, end_ns, track, lane }) {
  return { number, name, start: start_ns, end: end_ns, track, lane };
}

/** @param {Sight} sight @returns {Window} */
function emptyWindow({ from, to, bucket }) {
  return { from, to, bucket, lanes: new Map(), counters: new Map() };
}

/**
 * @param {Uint8Array} bytes
 * @param {Window} window
 * @param {number[]} lanes
 * @param {number[]} counters
 */
function read(bytes, window, lanes, counters) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const columns = new Varints(bytes, 4 + length);
  lanes.forEach((lane, i) => window.lanes.set(lane, readCells(columns, header.lanes[i])));
  counters.forEach((track, i) => window.counters.set(track, readPoints(columns, header.counters[i])));
}

/** @param {Varints} columns @param {number} count @returns {Cells} */
function readCells(columns, count) {
  const cells = {
    start: new Float64Array(count),
    end: new Float64Array(count),
    before: new Float64Array(count + 1),
    name: new Uint32Array(count),
    kind: new Uint8Array(count),
    numbers: new Uint32Array(count),
    many: new Uint32Array(count),
  };
  for (let i = 0, end = 0; i < count; i++) {
    cells.start[i] = end + columns.next();
    cells.end[i] = end = cells.start[i] + columns.next();
  }
  for (let i = 0; i < count; i++) cells.many[i] = columns.next();
  for (let i = 0; i < count; i++) {
    const busy = cells.many[i] > 1 ? columns.next() : cells.end[i] - cells.start[i];
    cells.before[i + 1] = cells.before[i] + busy;
  }
  for (let i = 0; i < count; i++) cells.name[i] = columns.next();
  for (let i = 0; i < count; i++) cells.kind[i] = columns.next();
  for (let i = 0, number = 0; i < count; i++) cells.numbers[i] = number += columns.signed();
  return cells;
}

/** @param {Varints} columns @param {number} points @returns {Points} */
function readPoints(columns, points) {
  const time = new Float64Array(points);
  const value = new Float64Array(points);
  for (let i = 0, at = 0; i < points; i++) time[i] = at += columns.next();
  for (let i = 0, now = 0; i < points; i++) value[i] = now += columns.signed();
  return { time, value, peaks: peaksOf(value) };
}
