// The events of a timeline in typed arrays, decoded once from the bytes in the page.

import { Varints } from "../lib/packed.js";

/**
 * Slices of one row: they never overlap, and are in order of time. Of a timeline that is served, cells stand for them:
 * slices, and several together that are too short to be told apart.
 * @typedef {object} Lane
 * @property {number} number through all tracks
 * @property {number} count
 * @property {number} first the number of its first slice in the whole timeline
 * @property {number} total of slices, be they here or not
 * @property {Uint32Array | null} numbers of the slices that are here; null if all are
 * @property {Uint32Array | null} many how many each stands for; null if each for itself
 * @property {Float64Array} start ns since the timeline's start
 * @property {Float64Array} end
 * @property {Float64Array} before how long all slices up to one took, without it; the last is of all
 * @property {Uint32Array} name
 * @property {Uint8Array} kind
 * @property {Uint32Array} note
 */

/**
 * @typedef {object} Counter
 * @property {string} unit
 * @property {Float64Array} time
 * @property {Float64Array} value
 * @property {Float64Array} peaks the highest of every `PEAK` values
 * @property {number} most
 */

/** So many values of a counter share a peak. */
const PEAK = 64;

/**
 * @typedef {object} Track
 * @property {string} title
 * @property {string} group
 * @property {"gpu" | "host" | "counter" | "steps"} sort
 * @property {Lane[]} lanes
 * @property {Counter | null} counter
 */

/**
 * @typedef {object} Timeline
 * @property {number} length ns
 * @property {string[]} names
 * @property {string[]} notes
 * @property {string[]} kinds
 * @property {Track[]} tracks
 * @property {Uint32Array} arrowFrom numbers of slices, by the slice they end at
 * @property {Uint32Array} arrowTo
 * @property {number} slices
 * @property {string} leftOut what is not here, in words
 * @property {boolean} served the slices are with a server
 * @property {number[] | null} busy how busy GPUs were, in columns, if the page cannot find out itself
 * @property {{track: number, lane: number}[]} places of lanes, by their number
 */

/**
 * The page's bytes: the length of a header, the header as JSON, and columns of varints.
 * @param {Uint8Array} bytes
 * @returns {Timeline}
 */
export function decode(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const columns = new Varints(bytes, 4 + length);
  /** @type {Track[]} */
  const tracks = [];
  /** @type {{track: number, lane: number}[]} */
  const places = [];
  let slices = 0;
  const served = Boolean(header.served);
  for (const { title, group, sort, lanes, points, unit, most } of header.tracks) {
    /** @type {Track} */
    const track = { title, group, sort, lanes: [], counter: null };
    for (const total of lanes ?? []) {
      const lane = emptyLane(places.length, slices, total, served ? 0 : total);
      if (!served) readLane(columns, lane);
      places.push({ track: tracks.length, lane: track.lanes.length });
      track.lanes.push(lane);
      slices += total;
    }
    if (points) track.counter = readCounter(columns, points, unit);
    else if (served && unit) track.counter = { ...readCounter(columns, 0, unit), most: Math.max(most ?? 0, 0) };
    tracks.push(track);
  }
  const arrowFrom = new Uint32Array(header.arrows);
  const arrowTo = new Uint32Array(header.arrows);
  for (let i = 0, to = 0; i < header.arrows; i++) {
    to += columns.next();
    arrowTo[i] = to;
    arrowFrom[i] = to - columns.signed();
  }
  const { length_ns, names, notes, kinds, left_out, busy = null } = header;
  const about = { length: length_ns, names, notes, kinds, slices, leftOut: left_out, served, busy, places };
  return { ...about, tracks, arrowFrom, arrowTo };
}

/**
 * @param {number} number
 * @param {number} first
 * @param {number} total
 * @param {number} count
 * @returns {Lane}
 */
function emptyLane(number, first, total, count) {
  return {
    number,
    count,
    first,
    total,
    numbers: null,
    many: null,
    start: new Float64Array(count),
    end: new Float64Array(count),
    before: new Float64Array(count + 1),
    name: new Uint32Array(count),
    kind: new Uint8Array(count),
    note: new Uint32Array(count),
  };
}

/** @param {Varints} columns @param {Lane} lane */
function readLane(columns, lane) {
  const { count } = lane;
  for (let i = 0, end = 0; i < count; i++) {
    lane.start[i] = end + columns.next();
    lane.end[i] = end = lane.start[i] + columns.next();
    lane.before[i + 1] = lane.before[i] + end - lane.start[i];
  }
  for (let i = 0; i < count; i++) lane.name[i] = columns.next();
  for (let i = 0; i < count; i++) lane.kind[i] = columns.next();
  for (let i = 0; i < count; i++) lane.note[i] = columns.next();
}

/** The number of a slice, or of the longest that a cell stands for. @param {Lane} lane @param {number} i */
export function numberOf(lane, i) {
  return lane.numbers ? lane.numbers[i] : lane.first + i;
}

/**
 * @param {Varints} columns
 * @param {number} points
 * @param {string} unit
 * @returns {Counter}
 */
function readCounter(columns, points, unit) {
  const time = new Float64Array(points);
  const value = new Float64Array(points);
  let most = 0;
  for (let i = 0, at = 0; i < points; i++) time[i] = at += columns.next();
  for (let i = 0, now = 0; i < points; i++) {
    value[i] = now += columns.signed();
    most = Math.max(most, now);
  }
  return { unit, time, value, peaks: peaksOf(value), most };
}

/** @param {Float64Array} value */
export function peaksOf(value) {
  const peaks = new Float64Array(Math.ceil(value.length / PEAK)).fill(-Infinity);
  for (let i = 0; i < value.length; i++) peaks[Math.floor(i / PEAK)] = Math.max(peaks[Math.floor(i / PEAK)], value[i]);
  return peaks;
}

/**
 * The highest value of a range.
 * @param {Counter} counter
 * @param {number} from
 * @param {number} to
 */
export function highest({ value, peaks }, from, to) {
  let most = -Infinity;
  for (let i = from; i < to; ) {
    if (i % PEAK === 0 && i + PEAK <= to) {
      most = Math.max(most, peaks[i / PEAK]);
      i += PEAK;
    } else {
      most = Math.max(most, value[i++]);
    }
  }
  return most;
}

/**
 * The first slice that ends after this time.
 * @param {Float64Array} ends
 * @param {number} time
 */
export function firstAfter(ends, time) {
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ends[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * The same from a place on: fast if it is near.
 * @param {Float64Array} ends
 * @param {number} from
 * @param {number} time
 */
export function nextAfter(ends, from, time) {
  let step = 1;
  let low = from;
  while (low + step <= ends.length && !(ends[low + step - 1] > time)) {
    low += step;
    step *= 2;
  }
  let high = Math.min(low + step - 1, ends.length);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ends[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Where a slice is, by its number.
 * @param {Timeline} timeline
 * @param {number} slice
 * @returns {{track: number, lane: number, index: number} | null}
 */
export function locate(timeline, slice) {
  for (let track = 0; track < timeline.tracks.length; track++) {
    const lanes = timeline.tracks[track].lanes;
    for (let lane = 0; lane < lanes.length; lane++) {
      const index = slice - lanes[lane].first;
      if (index >= 0 && index < lanes[lane].count) return { track, lane, index };
    }
  }
  return null;
}
