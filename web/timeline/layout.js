// Where tracks are on the page, from the top down: only what is in sight is drawn.

/** @typedef {import("./data.js").Timeline} Timeline */
/** @typedef {import("./data.js").Track} Track */

export const GUTTER = 200;
export const LANE = 17;
const HEAD = 20;
const GAP = 6;
const COUNTER = 44;
/** Python stacks are deep; the rest of a track shows when it is opened. */
const CLOSED_LANES = 8;

/**
 * @typedef {object} Placed
 * @property {number} track
 * @property {number} top
 * @property {number} height
 * @property {number} lanes how many are shown
 * @property {string} group the group's title, above its first track
 */

export class Layout {
  /** @param {Timeline} timeline */
  constructor(timeline) {
    this.timeline = timeline;
    /** @type {Set<number>} */
    this.opened = new Set();
    /** @type {Set<string>} */
    this.folded = new Set();
    /** @type {Placed[]} */
    this.placed = [];
    this.height = 0;
    this.place();
  }

  place() {
    this.placed = [];
    let top = 0;
    let group = "";
    this.timeline.tracks.forEach((track, number) => {
      const heading = track.group === group ? "" : track.group;
      group = track.group;
      if (heading) top += HEAD;
      if (this.folded.has(track.group)) return this.foldedTo(number, top, heading);
      const lanes = this.opened.has(number) ? track.lanes.length : Math.min(track.lanes.length, CLOSED_LANES);
      const height = track.counter ? COUNTER : Math.max(lanes, 1) * LANE;
      this.placed.push({ track: number, top, height, lanes, group: heading });
      top += height + GAP;
    });
    this.height = top;
  }

  /** Of a folded group only the heading stays. */
  foldedTo(/** @type {number} */ track, /** @type {number} */ top, /** @type {string} */ group) {
    if (group) this.placed.push({ track, top, height: 0, lanes: 0, group });
  }

  /** @param {number} track */
  toggle(track) {
    if (!this.opened.delete(track)) this.opened.add(track);
    this.place();
  }

  /** @param {string} group */
  fold(group) {
    if (!this.folded.delete(group)) this.folded.add(group);
    this.place();
  }

  /** Makes a track visible. @param {number} track @param {number} lane */
  show(track, lane) {
    this.folded.delete(this.timeline.tracks[track].group);
    if (lane >= CLOSED_LANES) this.opened.add(track);
    this.place();
    return this.placed.find((placed) => placed.track === track && placed.lanes > 0);
  }

  /** Whether more of a track can be shown. @param {Placed} placed */
  more(placed) {
    return this.timeline.tracks[placed.track].lanes.length > CLOSED_LANES;
  }

  /**
   * What is at this height.
   * @param {number} y
   * @returns {{placed: Placed, lane: number} | null}
   */
  at(y) {
    for (const placed of this.placed) {
      if (y >= placed.top && y < placed.top + placed.height) {
        return { placed, lane: Math.floor((y - placed.top) / LANE) };
      }
    }
    return null;
  }
}
