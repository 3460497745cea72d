// The timeline in a page: joins the parts and listens to keyboard and mouse.

import { byId, element, oncePerFrame } from "../lib/dom.js";
import { unpack } from "../lib/packed.js";
import { duration, grouped } from "../lib/units.js";
import { decode } from "./data.js";
import { describeRange, describeSlice } from "./details.js";
import { AXIS, Painter } from "./draw.js";
import { GUTTER, LANE, Layout } from "./layout.js";
import { Minimap } from "./minimap.js";
import { Pointer } from "./pointer.js";
import { Served } from "./served.js";
import { Embedded } from "./source.js";
import { State, isPlace } from "./state.js";

/** @typedef {import("./source.js").Slice} Slice */

const LOST = "The server does not answer: is gpuscope view still running?";

export class TimelinePage {
  /** @param {import("./data.js").Timeline} timeline */
  constructor(timeline) {
    this.timeline = timeline;
    this.state = new State(timeline.length);
    this.state.meanings = new Set(
      timeline.kinds.flatMap((kind, number) => (kind === "critical" || kind === "communication" ? [number] : [])),
    );
    this.layout = new Layout(timeline);
    this.canvas = /** @type {HTMLCanvasElement} */ (byId("tracks"));
    this.scroller = byId("scroller");
    this.spacer = byId("spacer");
    this.panel = byId("details");
    this.found = byId("found");
    this.input = /** @type {HTMLInputElement} */ (byId("find"));
    this.keys = /** @type {HTMLDialogElement} */ (byId("keys"));
    this.painter = new Painter(this.canvas, this.state, this.layout);
    this.minimap = new Minimap(/** @type {HTMLCanvasElement} */ (byId("minimap")), timeline, this.state);
    this.redraw = oncePerFrame(() => this.draw());
    /** @type {import("./source.js").Source} */
    this.source = timeline.served ? this.served() : new Embedded(timeline);
    /** What is known of the selected slice. @type {Slice | null} */
    this.slice = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.saving = undefined;
    /** How often something of a kind was asked for. */
    this.turns = { panel: 0, search: 0 };
    this.listen();
    this.measure();
    this.open(location.hash);
  }

  /** In a report the timeline is one of several views. */
  get inSight() {
    return this.scroller.clientWidth > 0;
  }

  served() {
    const served = new Served(this.timeline, this.redraw);
    served.lost = () => this.say(LOST);
    return served;
  }

  /** @param {string} what is wrong */
  say(what) {
    this.panel.replaceChildren(element("p", { class: "error" }, what));
  }

  /**
   * Something that takes time: what comes back is shown only if nothing of its kind was asked for meanwhile.
   * @template T
   * @param {"panel" | "search"} kind
   * @param {Promise<T>} asked
   * @param {(answer: T) => void} show
   */
  async later(kind, asked, show) {
    const turn = ++this.turns[kind];
    try {
      const answer = await asked;
      if (this.turns[kind] === turn) show(answer);
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      // What a browser says of a server that is gone says nothing.
      this.say(error instanceof TypeError && this.timeline.served ? LOST : `This could not be found out: ${message}`);
    }
  }

  /** Shows what an address says. @param {string} address */
  open(address) {
    const { state } = this;
    state.fromAddress(address);
    this.input.value = state.query;
    this.search(state.query);
    this.spacer.style.height = `${this.layout.height + AXIS}px`;
    const wanted = state.group && this.layout.placed.find(({ group }) => group === state.group);
    this.scroller.scrollTop = wanted ? Math.max(0, wanted.top - LANE) : state.scroll;
    if (state.selected >= 0) this.select(state.selected);
    else if (state.marked) this.describeMarked();
    else this.unselect();
    this.redraw();
  }

  draw() {
    this.source.prepare(this.state, this.layout);
    this.painter.draw();
    this.minimap.draw();
    this.canvas.setAttribute(
      "aria-label",
      `Timeline from ${duration(this.state.from)} to ${duration(this.state.to)}, ${this.layout.placed.length} tracks`,
    );
    // However often it is drawn, the address follows.
    this.saving ??= setTimeout(() => {
      this.saving = undefined;
      if (this.inSight) history.replaceState(null, "", this.state.toAddress());
    }, 200);
  }

  measure() {
    if (!this.inSight) return;
    this.state.width = this.scroller.clientWidth;
    this.state.height = this.scroller.clientHeight;
    this.canvas.style.width = `${this.state.width}px`;
    this.canvas.style.height = `${this.state.height}px`;
    this.redraw();
  }

  listen() {
    new ResizeObserver(() => this.measure()).observe(this.scroller);
    window.addEventListener("hashchange", () => isPlace(location.hash) && this.open(location.hash));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.redraw);
    this.scroller.addEventListener("scroll", () => {
      this.state.scroll = this.scroller.scrollTop;
      this.redraw();
    });
    new Pointer(this).listen();
    document.addEventListener("keydown", (event) => this.onKey(event));
    this.input.addEventListener("input", () => this.search(this.input.value));
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.next(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") this.canvas.focus();
    });
    byId("next").addEventListener("click", () => this.next(1));
    byId("previous").addEventListener("click", () => this.next(-1));
    byId("fit").addEventListener("click", () => this.fit());
    byId("help").addEventListener("click", () => this.help());
  }

  /** The time at a place of the canvas. @param {number} x */
  time(x) {
    const { from, to, width } = this.state;
    return from + ((x - GUTTER) / (width - GUTTER)) * (to - from);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === this.input || !this.inSight) return;
    // The list of keys closes by itself, or as it was opened.
    if (this.keys.open && event.key !== "?") return;
    const middle = (this.state.from + this.state.to) / 2;
    /** @type {Record<string, () => void>} */
    const keys = {
      w: () => this.state.zoom(0.7, middle),
      s: () => this.state.zoom(1 / 0.7, middle),
      a: () => this.state.pan(-0.15),
      d: () => this.state.pan(0.15),
      ArrowLeft: () => this.state.pan(-0.15),
      ArrowRight: () => this.state.pan(0.15),
      f: () => this.fit(),
      m: () => this.markSelected(),
      n: () => this.next(1),
      N: () => this.next(-1),
      "/": () => this.input.focus(),
      "?": () => this.help(),
      Escape: () => this.unselect(),
    };
    const key = keys[event.key] ?? (event.shiftKey ? undefined : keys[event.key.toLowerCase()]);
    if (!key) return;
    event.preventDefault();
    key();
    this.redraw();
  }

  /** The selected slice, or all. */
  fit() {
    if (this.slice && this.slice.number === this.state.selected) this.show(this.slice);
    else this.state.look(0, this.state.length);
    this.redraw();
  }

  /** @param {number} number */
  select(number) {
    this.state.selected = number;
    this.state.marked = null;
    this.state.links = [];
    this.later("panel", this.source.describe(number), (described) => {
      if (!described) return this.unselect();
      const { slice, launchedBy, launched } = described;
      this.slice = slice;
      this.state.links = [
        ...launchedBy.map((from) => /** @type {[Slice, Slice]} */ ([from, slice])),
        ...launched.map((to) => /** @type {[Slice, Slice]} */ ([slice, to])),
      ];
      describeSlice(this.panel, this.timeline, described, (other) => this.go(other));
      this.redraw();
    });
    this.redraw();
  }

  unselect() {
    this.state.selected = -1;
    this.state.links = [];
    this.state.marked = null;
    this.slice = null;
    this.turns.panel++;
    this.panel.replaceChildren();
    this.redraw();
  }

  /** Selects a slice and brings it into sight. @param {Slice} slice */
  go(slice) {
    this.show(slice);
    this.select(slice.number);
  }

  /** The same of one that only the number is known of. @param {number} number */
  goTo(number) {
    this.later("panel", this.source.describe(number), (described) => described && this.go(described.slice));
  }

  /** @param {Slice} slice */
  show({ track, lane, start, end }) {
    const room = Math.max(end - start, 20) * 2;
    this.state.look(start - room, end + room);
    const placed = this.layout.show(track, lane);
    this.spacer.style.height = `${this.layout.height + AXIS}px`;
    if (!placed) return;
    const top = placed.top + lane * LANE;
    const { scrollTop } = this.scroller;
    if (top < scrollTop || top > scrollTop + this.state.height - AXIS - LANE * 2) {
      this.scroller.scrollTop = Math.max(0, top - this.state.height / 2);
    }
  }

  /** @param {number} from @param {number} to */
  mark(from, to) {
    this.state.selected = -1;
    this.state.links = [];
    this.slice = null;
    this.state.marked = [Math.max(from, 0), Math.min(to, this.state.length)];
    this.describeMarked();
  }

  describeMarked() {
    const range = this.state.marked;
    if (!range) return;
    this.later("panel", this.source.statistics(range), (found) => describeRange(this.panel, range, found));
  }

  /** The range of the selected slice, or what is in sight. */
  markSelected() {
    if (this.slice && this.slice.number === this.state.selected) this.mark(this.slice.start, this.slice.end);
    else this.mark(this.state.from, this.state.to);
  }

  /** @param {string} text */
  search(text) {
    this.state.query = text;
    this.later("search", this.source.find(text), (found) => {
      this.state.hits = found && found.names;
      this.found.textContent = found ? `${grouped(found.count)} found · ${duration(found.total)}` : "";
      this.redraw();
    });
  }

  /** @param {1 | -1} direction */
  next(direction) {
    if (!this.state.query.trim()) return this.input.focus();
    const time = this.slice ? this.slice.start : direction > 0 ? -Infinity : Infinity;
    const from = { time, number: this.slice ? this.slice.number : -1 };
    this.later("panel", this.nextAround(from, direction), (number) => {
      if (number !== null) this.goTo(number);
    });
  }

  /**
   * After the last hit comes the first one.
   * @param {{time: number, number: number}} from
   * @param {1 | -1} direction
   */
  async nextAround(from, direction) {
    const found = await this.source.next(this.state.query, from, direction);
    if (found !== null) return found;
    const start = { time: direction > 0 ? -Infinity : Infinity, number: -1 };
    return this.source.next(this.state.query, start, direction);
  }

  help() {
    if (this.keys.open) this.keys.close();
    else this.keys.showModal();
  }
}

/** Shows the timeline that the page holds. @returns {Promise<TimelinePage>} */
export async function openTimeline() {
  try {
    const page = new TimelinePage(decode(await unpack("timeline-data")));
    // For tests and for the curious: what a frame costs.
    Object.assign(window, { gpuscope: page });
    return page;
  } catch (error) {
    byId("details").replaceChildren(
      element("p", { class: "error" }, `This timeline cannot be shown: ${/** @type {Error} */ (error).message}`),
    );
    throw error;
  }
}
