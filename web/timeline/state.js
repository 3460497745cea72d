// What is in sight and what is chosen; the address of the page holds it, so that a colleague opens the same view.

/** @typedef {{track: number, lane: number, index: number}} Place */

const SHORTEST = 10;

/** Whether an address is a place in the timeline. @param {string} address */
export function isPlace(address) {
  return /^#(from|to|slice|mark|group|timeline)\b/.test(address);
}

export class State {
  /** @param {number} length ns */
  constructor(length) {
    this.length = Math.max(length, SHORTEST);
    this.from = 0;
    this.to = this.length;
    this.width = 800;
    this.height = 400;
    this.scroll = 0;
    /** The number of the slice that is selected, or -1. */
    this.selected = -1;
    /** From what launched to what was launched. @type {[import("./source.js").Slice, import("./source.js").Slice][]} */
    this.links = [];
    /** Numbers of the names that were searched for. @type {Set<number> | null} */
    this.hits = null;
    this.query = "";
    /** Tracks to bring into sight, such as those of a rank: their group. @type {string | null} */
    this.group = null;
    /** @type {[number, number] | null} */
    this.marked = null;
    /** Kinds whose colour means something on host threads, too. @type {Set<number>} */
    this.meanings = new Set();
  }

  /** @param {number} from @param {number} to */
  look(from, to) {
    const length = Math.min(Math.max(to - from, SHORTEST), this.length);
    // A little beyond both ends may be seen, so that the first and last slices stand clear.
    const air = length * 0.02;
    this.from = Math.min(Math.max(from, -air), this.length + air - length);
    this.to = this.from + length;
  }

  /** Around a point that stays where it is. @param {number} factor @param {number} around */
  zoom(factor, around) {
    const length = (this.to - this.from) * factor;
    const share = (around - this.from) / (this.to - this.from);
    this.look(around - share * length, around + (1 - share) * length);
  }

  /** By a share of what is in sight. @param {number} share */
  pan(share) {
    const by = (this.to - this.from) * share;
    this.look(this.from + by, this.to + by);
  }

  toAddress() {
    const parts = new URLSearchParams();
    parts.set("from", String(Math.round(this.from)));
    parts.set("to", String(Math.round(this.to)));
    if (this.scroll) parts.set("y", String(Math.round(this.scroll)));
    if (this.selected >= 0) parts.set("slice", String(this.selected));
    if (this.query) parts.set("find", this.query);
    if (this.marked) parts.set("mark", this.marked.map(Math.round).join(".."));
    return `#${parts}`;
  }

  /** @param {string} address */
  fromAddress(address) {
    const parts = new URLSearchParams(address.replace(/^#/, ""));
    const number = (/** @type {string} */ name, /** @type {number} */ otherwise) => {
      const value = Number(parts.get(name) ?? NaN);
      return Number.isFinite(value) ? value : otherwise;
    };
    this.look(number("from", 0), number("to", this.length));
    this.scroll = Math.max(0, number("y", 0));
    this.selected = Math.trunc(number("slice", -1));
    this.query = parts.get("find") ?? "";
    this.group = parts.get("group");
    const marked = (parts.get("mark") ?? "").split("..").map(Number);
    const [from, to] = marked.sort((a, b) => a - b).map((time) => Math.min(Math.max(time, 0), this.length));
    this.marked = marked.length === 2 && marked.every(Number.isFinite) ? [from, to] : null;
  }
}
