// Draws what is in sight: at most one rectangle for each pixel of a lane, however many slices lie there.

import { MEANING, theme, tint } from "../lib/colors.js";
import { duration, inUnit } from "../lib/units.js";
import { firstAfter } from "./data.js";
import { GUTTER, LANE } from "./layout.js";

/** @typedef {import("./data.js").Lane} Lane */
/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {import("./layout.js").Placed} Placed */
/** @typedef {import("./state.js").State} State */

export const AXIS = 26;
const FONT = "11px system-ui, sans-serif";
/** Letters are about this wide; text that does not fit is cut. */
const LETTER = 6.5;

/** So many shades tell how dense a pixel is. */
const DENSITIES = 5;

/**
 * Pixels side by side that look the same.
 * @typedef {{lane: Lane | null, slice: number, name: number, dense: number, left: number, right: number}} Run
 */

/** @type {Run} */
const NO_RUN = { lane: null, slice: 0, name: -1, dense: 0, left: 0, right: -1 };

export class Painter {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {State} state
   * @param {Layout} layout
   */
  constructor(canvas, state, layout) {
    this.canvas = canvas;
    this.state = state;
    this.layout = layout;
    this.timeline = layout.timeline;
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) throw new Error("this browser draws no canvas");
    this.context = context;
    this.colors = theme();
    this.tints = this.timeline.names.map(tint);
    this.briefs = this.timeline.names.map(brief);
    /** Counted for tests: what one frame cost. */
    this.drawn = { rectangles: 0, rows: 0, ms: 0 };
  }

  /** @param {number} time */
  x(time) {
    const { from, to } = this.state;
    return GUTTER + ((time - from) / (to - from)) * (this.state.width - GUTTER);
  }

  draw() {
    const begun = performance.now();
    this.drawn = { rectangles: 0, rows: 0, ms: 0 };
    const { context, state } = this;
    this.colors = theme();
    this.fit();
    context.fillStyle = this.colors.page;
    context.fillRect(0, 0, state.width, state.height);
    context.font = FONT;
    context.textBaseline = "middle";
    this.drawGrid();
    context.save();
    context.beginPath();
    context.rect(0, AXIS, state.width, state.height - AXIS);
    context.clip();
    for (const placed of this.layout.placed) {
      const top = placed.top - state.scroll + AXIS;
      if (top + placed.height < 0 || top - 24 > state.height) continue;
      this.drawTrack(placed, top);
    }
    this.drawArrows();
    context.restore();
    this.drawMarked();
    this.drawn.ms = performance.now() - begun;
  }

  /** The canvas has as many pixels as the screen shows. */
  fit() {
    const { canvas, state } = this;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(state.width * ratio), Math.round(state.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  drawGrid() {
    const { context, state, colors } = this;
    const step = roundStep((state.to - state.from) / Math.max(2, (state.width - GUTTER) / 130));
    context.strokeStyle = colors.line;
    context.fillStyle = colors.soft;
    context.lineWidth = 1;
    context.textAlign = "left";
    for (let i = Math.ceil(state.from / step); i * step <= state.to; i++) {
      const x = Math.round(this.x(i * step)) + 0.5;
      context.beginPath();
      context.moveTo(x, 16);
      context.lineTo(x, state.height);
      context.stroke();
      context.fillText(tickText(i * step, step), x + 4, 12);
    }
  }

  /** @param {Placed} placed @param {number} top */
  drawTrack(placed, top) {
    const { context, state, colors } = this;
    const track = this.timeline.tracks[placed.track];
    context.textAlign = "left";
    if (placed.group) {
      context.fillStyle = colors.ink;
      context.font = `bold ${FONT}`;
      const mark = this.layout.folded.has(placed.group) ? "▸" : "▾";
      context.fillText(`${mark} ${placed.group}`, 8, top - 9);
      context.font = FONT;
    }
    if (!placed.height) return;
    context.fillStyle = colors.soft;
    const room = Math.floor((GUTTER - 24) / LETTER);
    context.fillText(cut(track.title, room), 12, top + LANE / 2);
    if (this.layout.more(placed)) {
      const open = this.layout.opened.has(placed.track);
      context.fillText(open ? "fewer rows" : `${track.lanes.length - placed.lanes} more rows`, 12, top + LANE * 1.5);
    }
    if (track.counter) return this.drawCounter(track.counter, top, placed.height);
    context.save();
    context.beginPath();
    context.rect(GUTTER, AXIS, state.width - GUTTER, state.height - AXIS);
    context.clip();
    for (let lane = 0; lane < placed.lanes; lane++) {
      const y = top + lane * LANE;
      if (y > -LANE && y < state.height) this.drawLane(track.lanes[lane], y, track.sort === "host");
    }
    context.restore();
  }

  /**
   * @param {Lane} lane
   * @param {number} y
   * @param {boolean} host
   */
  drawLane(lane, y, host) {
    const { state, context } = this;
    this.drawn.rows++;
    const pixel = (state.to - state.from) / (state.width - GUTTER);
    const height = LANE - 1;
    let run = NO_RUN;
    let i = firstAfter(lane.end, state.from);
    while (i < lane.count && lane.start[i] < state.to) {
      const start = lane.start[i];
      const left = Math.max(this.x(start), GUTTER - 1);
      if (lane.end[i] - start >= pixel) {
        const right = Math.min(this.x(lane.end[i]), state.width + 1);
        this.finish(run, y, height, host);
        run = NO_RUN;
        this.paint(lane, i, host);
        context.fillRect(left, y, Math.max(right - left - 0.5, 1), height);
        this.drawn.rectangles++;
        if (right - left > 26) this.write(lane, i, left, right, y);
        i++;
        continue;
      }
      // All slices that lie within this pixel are one line, as dense as they are; the longest gives the colour.
      const next = Math.max(firstAfter(lane.end, start + pixel), i + 1);
      let longest = i;
      let busy = 0;
      // Of very many, some stand for all: they cannot be told apart here.
      const stride = Math.max(1, Math.floor((next - i) / 16));
      for (let at = i; at < next; at += stride) {
        const long = lane.end[at] - lane.start[at];
        busy += long * stride;
        if (long > lane.end[longest] - lane.start[longest]) longest = at;
      }
      const dense = Math.ceil(Math.min(1, busy / pixel) * DENSITIES) / DENSITIES;
      const like = run.name === lane.name[longest] && run.dense === dense && left - run.right < 1;
      if (like) {
        run.right = left + 1;
      } else {
        this.finish(run, y, height, host);
        run = { lane, slice: longest, name: lane.name[longest], dense, left, right: left + 1 };
      }
      i = next;
    }
    this.finish(run, y, height, host);
    context.globalAlpha = 1;
  }

  /**
   * Draws neighbouring pixels that look alike as one.
   * @param {Run} run
   * @param {number} y
   * @param {number} height
   * @param {boolean} host
   */
  finish(run, y, height, host) {
    if (!run.lane) return;
    this.paint(run.lane, run.slice, host);
    this.context.globalAlpha *= 0.35 + 0.65 * run.dense;
    this.context.fillRect(run.left, y, run.right - run.left, height);
    this.context.globalAlpha = 1;
    this.drawn.rectangles++;
  }

  /** @param {Lane} lane @param {number} i @param {boolean} host */
  paint(lane, i, host) {
    const { context, state } = this;
    const meaning = MEANING[this.timeline.kinds[lane.kind[i]]];
    const plain = host && !state.meanings.has(lane.kind[i]);
    context.fillStyle = plain || !meaning ? this.tints[lane.name[i]] : meaning;
    const faint = state.hits && !state.hits.has(lane.name[i]);
    context.globalAlpha = faint ? 0.18 : 1;
    if (lane.first + i === state.selected) {
      context.globalAlpha = 1;
      context.fillStyle = MEANING.critical;
    }
  }

  /**
   * @param {Lane} lane
   * @param {number} i
   * @param {number} left
   * @param {number} right
   * @param {number} y
   */
  write(lane, i, left, right, y) {
    const { context } = this;
    const text = cut(this.briefs[lane.name[i]], Math.floor((right - left - 6) / LETTER));
    if (text.length < 3) return;
    context.fillStyle = onDark(String(context.fillStyle)) ? "#ffffff" : "#14181d";
    context.fillText(text, left + 4, y + LANE / 2);
  }

  /**
   * @param {import("./data.js").Counter} counter
   * @param {number} top
   * @param {number} height
   */
  drawCounter(counter, top, height) {
    const { context, state, colors } = this;
    const foot = top + height;
    const y = (/** @type {number} */ value) => foot - (counter.most ? (value / counter.most) * (height - 4) : 0);
    context.save();
    context.beginPath();
    context.rect(GUTTER, AXIS, state.width - GUTTER, state.height - AXIS);
    context.clip();
    context.beginPath();
    context.moveTo(GUTTER, foot);
    const pixel = (state.to - state.from) / (state.width - GUTTER);
    let i = Math.max(firstAfter(counter.time, state.from) - 1, 0);
    let before = foot;
    while (i < counter.time.length && counter.time[i] <= state.to) {
      // Of the points within a pixel the highest is drawn, and the last one holds from there on.
      const next = Math.max(firstAfter(counter.time, counter.time[i] + pixel), i + 1);
      let most = counter.value[i];
      const stride = Math.max(1, Math.floor((next - i) / 16));
      for (let at = i; at < next; at += stride) most = Math.max(most, counter.value[at]);
      const x = Math.max(this.x(counter.time[i]), GUTTER);
      context.lineTo(x, before);
      context.lineTo(x, y(most));
      before = y(counter.value[next - 1]);
      if (next > i + 1) {
        context.lineTo(x + 1, y(most));
        context.lineTo(x + 1, before);
      }
      this.drawn.rectangles++;
      i = next;
    }
    context.lineTo(state.width, before);
    context.lineTo(state.width, foot);
    context.fillStyle = MEANING.memset;
    context.globalAlpha = 0.6;
    context.fill();
    context.restore();
    context.fillStyle = colors.soft;
    context.fillText(`to ${inUnit(counter.most, counter.unit)}`, 12, top + LANE * 1.5);
    this.drawn.rows++;
  }

  /** From the launch to what it launched, for the slice that is selected. */
  drawArrows() {
    const { context, state } = this;
    context.strokeStyle = MEANING.critical;
    context.lineWidth = 1.5;
    for (const [from, to] of state.links) {
      const [start, end] = [this.place(from, true), this.place(to, false)];
      if (!start || !end) continue;
      const bend = Math.max(30, Math.abs(end.x - start.x) / 3);
      context.beginPath();
      context.moveTo(start.x, start.y);
      context.bezierCurveTo(start.x + bend, start.y, end.x - bend, end.y, end.x, end.y);
      context.stroke();
      context.beginPath();
      context.moveTo(end.x, end.y);
      context.lineTo(end.x - 7, end.y - 4);
      context.lineTo(end.x - 7, end.y + 4);
      context.fillStyle = MEANING.critical;
      context.fill();
    }
  }

  /**
   * Where a slice is on the screen.
   * @param {import("./state.js").Place} place
   * @param {boolean} atEnd
   */
  place({ track, lane, index }, atEnd) {
    const placed = this.layout.placed.find((placed) => placed.track === track && placed.lanes > lane);
    if (!placed) return null;
    const slices = this.timeline.tracks[track].lanes[lane];
    const y = placed.top - this.state.scroll + AXIS + lane * LANE + LANE / 2;
    return { x: this.x(atEnd ? slices.end[index] : slices.start[index]), y };
  }

  drawMarked() {
    const { context, state, colors } = this;
    if (!state.marked) return;
    const [from, to] = state.marked.map((time) => Math.max(this.x(time), GUTTER));
    context.fillStyle = MEANING.memset;
    context.globalAlpha = 0.18;
    context.fillRect(from, AXIS, to - from, state.height - AXIS);
    context.globalAlpha = 1;
    context.fillStyle = colors.ink;
    context.textAlign = "center";
    context.fillText(duration(state.marked[1] - state.marked[0]), (from + to) / 2, AXIS + 8);
    context.textAlign = "left";
  }
}

/** 1, 2 or 5 times a power of ten. @param {number} least */
export function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  for (const times of [1, 2, 5]) if (times * power >= least) return times * power;
  return 10 * power;
}

/**
 * As many digits as neighbours differ by.
 * @param {number} time
 * @param {number} step
 */
function tickText(time, step) {
  const [name, size] = time >= 1e9 ? ["s", 1e9] : time >= 1e6 ? ["ms", 1e6] : time >= 1e3 ? ["µs", 1e3] : ["ns", 1];
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / Number(size))));
  return `${(time / Number(size)).toFixed(Math.min(decimals, 9))} ${name}`;
}

/** A kernel's name without what all have in common. @param {string} name */
export function brief(name) {
  return name
    .replace(/^void /, "")
    .replace(/\(anonymous namespace\)::|<unnamed>::|at::native::|std::|c10::/g, "")
    .replace(/\((?:[^()]|\([^()]*\))*\)$/, "");
}

/** @param {string} text @param {number} most */
function cut(text, most) {
  return text.length <= most ? text : `${text.slice(0, Math.max(most - 1, 0))}…`;
}

/** @param {string} color as `#rrggbb` */
function onDark(color) {
  const value = parseInt(color.slice(1), 16);
  return ((value >> 16) & 255) * 0.3 + ((value >> 8) & 255) * 0.59 + (value & 255) * 0.11 < 130;
}
