// The timeline page: joins the parts and listens to keyboard and mouse.

import { byId, element, oncePerFrame } from "../lib/dom.js";
import { unpack } from "../lib/packed.js";
import { duration, grouped } from "../lib/units.js";
import { decode, firstAfter, locate } from "./data.js";
import { describeRange, describeSlice } from "./details.js";
import { AXIS, Painter } from "./draw.js";
import { GUTTER, LANE, Layout } from "./layout.js";
import { linksOf } from "./links.js";
import { Minimap } from "./minimap.js";
import { countHits, matching, nextHit } from "./search.js";
import { State } from "./state.js";

/** @typedef {import("./state.js").Place} Place */

const DRAG = 4;

class TimelinePage {
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
    this.listen();
    this.measure();
    this.open(location.hash);
  }

  /** Shows what an address says. @param {string} address */
  open(address) {
    const { state } = this;
    state.fromAddress(address);
    this.input.value = state.query;
    this.search(state.query);
    this.spacer.style.height = `${this.layout.height + AXIS}px`;
    this.scroller.scrollTop = state.scroll;
    const place = state.selected >= 0 ? locate(this.timeline, state.selected) : null;
    if (place) this.select(place);
    else if (state.marked) describeRange(this.panel, this.timeline, state.marked);
    this.redraw();
  }

  draw() {
    this.painter.draw();
    this.minimap.draw();
    this.canvas.setAttribute(
      "aria-label",
      `Timeline from ${duration(this.state.from)} to ${duration(this.state.to)}, ${this.layout.placed.length} tracks`,
    );
    clearTimeout(this.saving);
    this.saving = setTimeout(() => history.replaceState(null, "", this.state.toAddress()), 200);
  }

  measure() {
    this.state.width = this.scroller.clientWidth;
    this.state.height = this.scroller.clientHeight;
    this.canvas.style.width = `${this.state.width}px`;
    this.canvas.style.height = `${this.state.height}px`;
    this.redraw();
  }

  listen() {
    new ResizeObserver(() => this.measure()).observe(this.scroller);
    window.addEventListener("hashchange", () => this.open(location.hash));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.redraw);
    this.scroller.addEventListener("scroll", () => {
      this.state.scroll = this.scroller.scrollTop;
      this.redraw();
    });
    this.scroller.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => this.onDown(event));
    this.canvas.addEventListener("pointermove", (event) => this.onHover(event));
    this.canvas.addEventListener("dblclick", (event) => this.onDoubleClick(event));
    byId("minimap").addEventListener("pointerdown", (event) => this.onMinimap(event));
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

  /** @param {WheelEvent} event */
  onWheel(event) {
    // With Shift, some systems turn the wheel sideways themselves.
    const sideways = event.deltaX || (event.shiftKey ? event.deltaY : 0);
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const x = Math.max(event.clientX - this.canvas.getBoundingClientRect().left, GUTTER);
      this.state.zoom(Math.exp(event.deltaY * 0.004), this.time(x));
    } else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
      event.preventDefault();
      this.state.pan(sideways / this.state.width);
    }
    this.redraw();
  }

  /** @param {PointerEvent} event */
  onDown(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const begun = { from: this.state.from, to: this.state.to, scroll: this.scroller.scrollTop };
    const marking = event.shiftKey || y < AXIS;
    let dragged = false;
    this.canvas.setPointerCapture(event.pointerId);
    const move = (/** @type {PointerEvent} */ event) => {
      const [dx, dy] = [event.clientX - box.left - x, event.clientY - box.top - y];
      dragged ||= Math.abs(dx) + Math.abs(dy) > DRAG;
      if (!dragged) return;
      if (marking) {
        this.mark(this.time(Math.max(Math.min(x, x + dx), GUTTER)), this.time(Math.max(x, x + dx, GUTTER)));
      } else {
        const by = (dx / (this.state.width - GUTTER)) * (begun.to - begun.from);
        this.state.look(begun.from - by, begun.to - by);
        this.scroller.scrollTop = begun.scroll - dy;
      }
      this.redraw();
    };
    const up = () => {
      this.canvas.removeEventListener("pointermove", move);
      if (!dragged) this.click(x, y);
    };
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", up, { once: true });
  }

  /** @param {number} x @param {number} y */
  click(x, y) {
    const height = y - AXIS + this.state.scroll;
    if (x < GUTTER) {
      const at = this.layout.at(height);
      const heading = this.layout.placed.find(({ group, top }) => group && height < top && height > top - 20);
      if (heading) this.layout.fold(heading.group);
      else if (at && this.layout.more(at.placed)) this.layout.toggle(at.placed.track);
      this.spacer.style.height = `${this.layout.height + AXIS}px`;
      return this.redraw();
    }
    const place = this.at(x, height);
    if (place) this.select(place);
    else this.unselect();
  }

  /**
   * The slice at a place of the canvas.
   * @param {number} x
   * @param {number} height
   * @returns {Place | null}
   */
  at(x, height) {
    const at = this.layout.at(height);
    if (!at || x < GUTTER) return null;
    const lane = this.timeline.tracks[at.placed.track].lanes[at.lane];
    if (!lane || at.lane >= at.placed.lanes) return null;
    const pixel = (this.state.to - this.state.from) / (this.state.width - GUTTER);
    const time = this.time(x);
    const index = firstAfter(lane.end, time - pixel);
    const hit = index < lane.count && lane.start[index] <= time + pixel;
    return hit ? { track: at.placed.track, lane: at.lane, index } : null;
  }

  /** @param {PointerEvent} event */
  onHover(event) {
    if (event.buttons) return;
    const box = this.canvas.getBoundingClientRect();
    const place = this.at(event.clientX - box.left, event.clientY - box.top - AXIS + this.state.scroll);
    this.canvas.title = place ? this.title(place) : "";
    this.canvas.style.cursor = place ? "pointer" : "default";
  }

  /** @param {Place} place */
  title({ track, lane, index }) {
    const slices = this.timeline.tracks[track].lanes[lane];
    return `${this.timeline.names[slices.name[index]]}\n${duration(slices.end[index] - slices.start[index])}`;
  }

  /** @param {MouseEvent} event */
  onDoubleClick(event) {
    const box = this.canvas.getBoundingClientRect();
    const place = this.at(event.clientX - box.left, event.clientY - box.top - AXIS + this.state.scroll);
    if (place) this.go(place);
  }

  /** @param {PointerEvent} event */
  onMinimap(event) {
    const map = /** @type {HTMLElement} */ (event.currentTarget);
    const move = (/** @type {PointerEvent} */ event) => {
      const middle = this.minimap.time(event.clientX - map.getBoundingClientRect().left);
      const half = (this.state.to - this.state.from) / 2;
      this.state.look(middle - half, middle + half);
      this.redraw();
    };
    move(event);
    map.setPointerCapture(event.pointerId);
    map.addEventListener("pointermove", move);
    map.addEventListener("pointerup", () => map.removeEventListener("pointermove", move), { once: true });
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === this.input) return;
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
    const place = this.state.selected >= 0 ? locate(this.timeline, this.state.selected) : null;
    if (place) this.go(place);
    else this.state.look(0, this.state.length);
    this.redraw();
  }

  /** @param {Place} place */
  select(place) {
    const lane = this.timeline.tracks[place.track].lanes[place.lane];
    this.state.selected = lane.first + place.index;
    this.state.marked = null;
    this.state.links = linksOf(this.timeline, this.state.selected);
    describeSlice(this.panel, this.timeline, place, this.state, (other) => this.go(other));
    this.redraw();
  }

  unselect() {
    this.state.selected = -1;
    this.state.links = [];
    this.state.marked = null;
    this.panel.replaceChildren();
    this.redraw();
  }

  /** Selects a slice and brings it into sight. @param {Place} place */
  go(place) {
    const lane = this.timeline.tracks[place.track].lanes[place.lane];
    const [start, end] = [lane.start[place.index], lane.end[place.index]];
    const room = Math.max(end - start, 20) * 2;
    this.state.look(start - room, end + room);
    const placed = this.layout.show(place.track, place.lane);
    this.spacer.style.height = `${this.layout.height + AXIS}px`;
    if (placed) {
      const top = placed.top + place.lane * LANE;
      const { scrollTop } = this.scroller;
      if (top < scrollTop || top > scrollTop + this.state.height - AXIS - LANE * 2) {
        this.scroller.scrollTop = Math.max(0, top - this.state.height / 2);
      }
    }
    this.select(place);
  }

  /** @param {number} from @param {number} to */
  mark(from, to) {
    this.state.selected = -1;
    this.state.links = [];
    this.state.marked = [Math.max(from, 0), Math.min(to, this.state.length)];
    describeRange(this.panel, this.timeline, this.state.marked);
  }

  /** The range of the selected slice, or what is in sight. */
  markSelected() {
    const place = this.state.selected >= 0 ? locate(this.timeline, this.state.selected) : null;
    if (!place) return this.mark(this.state.from, this.state.to);
    const lane = this.timeline.tracks[place.track].lanes[place.lane];
    this.mark(lane.start[place.index], lane.end[place.index]);
  }

  /** @param {string} text */
  search(text) {
    this.state.query = text;
    this.state.hits = matching(this.timeline, text);
    if (this.state.hits) {
      const { count, total } = countHits(this.timeline, this.state.hits);
      this.found.textContent = `${grouped(count)} found · ${duration(total)}`;
    } else {
      this.found.textContent = "";
    }
    this.redraw();
  }

  /** @param {1 | -1} direction */
  next(direction) {
    if (!this.state.hits) return this.input.focus();
    const place = this.state.selected >= 0 ? locate(this.timeline, this.state.selected) : null;
    const lane = place && this.timeline.tracks[place.track].lanes[place.lane];
    const time = place && lane ? lane.start[place.index] : direction > 0 ? -Infinity : Infinity;
    const found = nextHit(this.timeline, this.state.hits, time, this.state.selected, direction);
    if (found) this.go(found);
  }

  help() {
    if (this.keys.open) this.keys.close();
    else this.keys.showModal();
  }
}

unpack("timeline-data")
  .then((bytes) => {
    const page = new TimelinePage(decode(bytes));
    // For tests and for the curious: what a frame costs.
    Object.assign(window, { gpuscope: page });
    performance.mark("ready");
    document.documentElement.dataset.ready = "true";
  })
  .catch((error) => {
    byId("details").replaceChildren(element("p", { class: "error" }, `This page cannot be shown: ${error.message}`));
  });
