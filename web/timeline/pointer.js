// The mouse, a pen or a finger: zooms, pans, marks, selects, and says what is below it.

import { byId } from "../lib/dom.js";
import { duration, grouped } from "../lib/units.js";
import { firstAfter, numberOf } from "./data.js";
import { AXIS } from "./draw.js";
import { GUTTER } from "./layout.js";

/** @typedef {import("./state.js").Place} Place */

/** A smaller move is a click. */
const DRAG = 4;

export class Pointer {
  /** @param {import("./page.js").TimelinePage} page */
  constructor(page) {
    this.page = page;
  }

  listen() {
    const { scroller, canvas } = this.page;
    scroller.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.onDown(event));
    canvas.addEventListener("pointermove", (event) => this.onHover(event));
    canvas.addEventListener("dblclick", (event) => this.onDoubleClick(event));
    byId("minimap").addEventListener("pointerdown", (event) => this.onMinimap(event));
  }

  /** @param {WheelEvent} event */
  onWheel(event) {
    const { page } = this;
    // With Shift, some systems turn the wheel sideways themselves.
    const sideways = event.deltaX || (event.shiftKey ? event.deltaY : 0);
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const x = Math.max(event.clientX - page.canvas.getBoundingClientRect().left, GUTTER);
      page.state.zoom(Math.exp(event.deltaY * 0.004), page.time(x));
    } else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
      event.preventDefault();
      page.state.pan(sideways / page.state.width);
    }
    page.redraw();
  }

  /** @param {PointerEvent} event */
  onDown(event) {
    const { page } = this;
    const { canvas, scroller, state } = page;
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const begun = { from: state.from, to: state.to, scroll: scroller.scrollTop };
    const marking = event.shiftKey || y < AXIS;
    let dragged = false;
    canvas.setPointerCapture(event.pointerId);
    const move = (/** @type {PointerEvent} */ event) => {
      const [dx, dy] = [event.clientX - box.left - x, event.clientY - box.top - y];
      dragged ||= Math.abs(dx) + Math.abs(dy) > DRAG;
      if (!dragged) return;
      if (marking) {
        page.mark(page.time(Math.max(Math.min(x, x + dx), GUTTER)), page.time(Math.max(x, x + dx, GUTTER)));
      } else {
        const by = (dx / (state.width - GUTTER)) * (begun.to - begun.from);
        state.look(begun.from - by, begun.to - by);
        scroller.scrollTop = begun.scroll - dy;
      }
      page.redraw();
    };
    const up = () => {
      canvas.removeEventListener("pointermove", move);
      if (!dragged) this.click(x, y);
    };
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("pointerup", up, { once: true });
  }

  /** @param {number} x @param {number} y */
  click(x, y) {
    const { page } = this;
    const { layout } = page;
    const height = y - AXIS + page.state.scroll;
    if (x < GUTTER) {
      const at = layout.at(height);
      const heading = layout.placed.find(({ group, top }) => group && height < top && height > top - 20);
      if (heading) layout.fold(heading.group);
      else if (at && layout.more(at.placed)) layout.toggle(at.placed.track);
      page.spacer.style.height = `${layout.height + AXIS}px`;
      return page.redraw();
    }
    const number = this.numberAt(x, height);
    if (number === null) page.unselect();
    else page.select(number);
  }

  /** @param {number} x @param {number} height */
  numberAt(x, height) {
    const place = this.at(x, height);
    return place && numberOf(this.page.timeline.tracks[place.track].lanes[place.lane], place.index);
  }

  /**
   * The slice at a place of the canvas.
   * @param {number} x
   * @param {number} height
   * @returns {Place | null}
   */
  at(x, height) {
    const { layout, timeline, state } = this.page;
    const at = layout.at(height);
    if (!at || x < GUTTER) return null;
    const lane = timeline.tracks[at.placed.track].lanes[at.lane];
    if (!lane || at.lane >= at.placed.lanes) return null;
    const pixel = (state.to - state.from) / (state.width - GUTTER);
    const time = this.page.time(x);
    const index = firstAfter(lane.end, time - pixel);
    const hit = index < lane.count && lane.start[index] <= time + pixel;
    return hit ? { track: at.placed.track, lane: at.lane, index } : null;
  }

  /** @param {PointerEvent} event */
  onHover(event) {
    if (event.buttons) return;
    const { canvas, state } = this.page;
    const box = canvas.getBoundingClientRect();
    const place = this.at(event.clientX - box.left, event.clientY - box.top - AXIS + state.scroll);
    canvas.title = place ? this.title(place) : "";
    canvas.style.cursor = place ? "pointer" : "default";
  }

  /** @param {Place} place */
  title({ track, lane, index }) {
    const { timeline } = this.page;
    const { name, before, many } = timeline.tracks[track].lanes[lane];
    const time = duration(before[index + 1] - before[index]);
    const several = many && many[index] > 1 ? `${grouped(many[index])} slices, the longest: ` : "";
    return `${several}${timeline.names[name[index]]}\n${time}`;
  }

  /** @param {MouseEvent} event */
  onDoubleClick(event) {
    const { page } = this;
    const box = page.canvas.getBoundingClientRect();
    const number = this.numberAt(event.clientX - box.left, event.clientY - box.top - AXIS + page.state.scroll);
    if (number !== null) page.goTo(number);
  }

  /** @param {PointerEvent} event */
  onMinimap(event) {
    const { page } = this;
    const map = /** @type {HTMLElement} */ (event.currentTarget);
    const move = (/** @type {PointerEvent} */ event) => {
      const middle = page.minimap.time(event.clientX - map.getBoundingClientRect().left);
      const half = (page.state.to - page.state.from) / 2;
      page.state.look(middle - half, middle + half);
      page.redraw();
    };
    move(event);
    map.setPointerCapture(event.pointerId);
    map.addEventListener("pointermove", move);
    map.addEventListener("pointerup", () => map.removeEventListener("pointermove", move), { once: true });
  }
}
