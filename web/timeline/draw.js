// Draws what is in sight: at most one rectangle for each pixel of a lane, however many slices lie there.

import { hex, MEANING, mixed, rgb, theme, tint } from "../lib/colors.js";
import { brief } from "../lib/names.js";
import { duration, inUnit } from "../lib/units.js";
import { firstAfter, highest, nextAfter, numberOf } from "./data.js";
import { GUTTER, LANE } from "./layout.js";
import { Strip } from "./strip.js";
import { cut, onDark, roundStep, tickText } from "./text.js";

/** @typedef {import("./data.js").Lane} Lane */
/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {import("./layout.js").Placed} Placed */
/** @typedef {import("./state.js").State} State */

export const AXIS = 26;
const FONT = "11px system-ui, sans-serif";
/** Letters are about this wide; text that does not fit is cut. */
const LETTER = 6.5;

/** Narrower slices are columns of pixels, which cost the same however many there are. */
const WIDE = 3;
/** Narrower slices have no room for a name that says anything. */
const LABELLED = 44;
/** A counter with no more is drawn as rectangles, one for each. */
const FEW_STEPS = 200;
const CRITICAL = rgb(MEANING.critical);
const MEMSET = rgb(MEANING.memset);

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
    this.strip = new Strip();
    this.colors = theme();
    this.page = rgb(this.colors.page);
    this.tints = this.timeline.names.map((name) => rgb(tint(name)));
    /** By kind; -1 for none. */
    this.meanings = this.timeline.kinds.map((kind) => (MEANING[kind] ? rgb(MEANING[kind]) : -1));
    this.briefs = this.timeline.names.map(brief);
    /** Names on slices. @type {{text: string, x: number, y: number, white: boolean}[]} */
    this.labels = [];
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
    this.labels = [];
    const { context, state } = this;
    this.colors = theme();
    this.page = rgb(this.colors.page);
    this.fit();
    this.strip.begin(Math.max(state.width - GUTTER, 1), this.page);
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
      const top = Math.round(placed.top - state.scroll + AXIS);
      if (top + placed.height < 0 || top - 24 > state.height) continue;
      this.drawTrack(placed, top);
    }
    this.strip.paste(context, GUTTER);
    this.writeLabels();
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
    context.beginPath();
    for (let i = Math.ceil(state.from / step); i * step <= state.to; i++) {
      const x = Math.round(this.x(i * step)) + 0.5;
      context.moveTo(x, 16);
      context.lineTo(x, state.height);
      context.fillText(tickText(i * step, step), x + 4, 12);
    }
    context.stroke();
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
   * All in columns of the strip: of a slice that is wide enough as many as it is wide, with its name on it; of all others
   * one for each pixel.
   * @param {Lane} lane
   * @param {number} y
   * @param {boolean} host
   */
  drawLane(lane, y, host) {
    const { state, strip } = this;
    const row = strip.row(y, LANE - 1);
    this.drawn.rows++;
    const pixel = (state.to - state.from) / (state.width - GUTTER);
    let i = firstAfter(lane.end, state.from);
    while (i < lane.count && lane.start[i] < state.to) {
      const start = lane.start[i];
      const left = Math.max(Math.round((start - state.from) / pixel), -1);
      if (lane.end[i] - start >= WIDE * pixel) {
        const right = Math.min(Math.round((lane.end[i] - state.from) / pixel), strip.width + 1);
        const color = this.colorOf(lane, i, host);
        strip.columns(row, left, Math.max(right - left - 1, 1), color, 1);
        this.drawn.rectangles++;
        if (right - left > LABELLED) this.label(lane.name[i], GUTTER + left, GUTTER + right, y, color);
        i++;
        continue;
      }
      // All slices that end within this pixel are one column, as dense as they are; the longest gives the colour.
      const until = state.from + (Math.floor((start - state.from) / pixel) + 1) * pixel;
      const next = Math.max(nextAfter(lane.end, i, until), i + 1);
      // Of very many, some stand for all: the longest cannot be told from the next here.
      let longest = i;
      const stride = Math.max(1, Math.floor((next - i) / 16));
      for (let at = i; at < next; at += stride) {
        if (lane.end[at] - lane.start[at] > lane.end[longest] - lane.start[longest]) longest = at;
      }
      const columns = Math.max(1, Math.round((lane.end[next - 1] - start) / pixel));
      const dense = Math.min(1, (lane.before[next] - lane.before[i]) / (pixel * columns));
      strip.columns(row, left, columns, this.colorOf(lane, longest, host), 0.35 + 0.65 * dense);
      this.drawn.rectangles++;
      i = next;
    }
  }

  /**
   * Faint if something else is searched for.
   * @param {Lane} lane
   * @param {number} i
   * @param {boolean} host
   */
  colorOf(lane, i, host) {
    const { state } = this;
    if (state.selected >= 0 && numberOf(lane, i) === state.selected) return CRITICAL;
    const kind = lane.kind[i];
    const meaning = host && !state.meanings.has(kind) ? -1 : this.meanings[kind];
    const color = meaning >= 0 ? meaning : this.tints[lane.name[i]];
    return state.hits && !state.hits.has(lane.name[i]) ? mixed(this.page, color, 0.18) : color;
  }

  /**
   * To be written once all slices are painted.
   * @param {number} name
   * @param {number} left
   * @param {number} right
   * @param {number} y
   * @param {number} color what it stands on
   */
  label(name, left, right, y, color) {
    const text = cut(this.briefs[name], Math.floor((right - left - 6) / LETTER));
    if (text.length >= 3) this.labels.push({ text, x: left + 4, y: y + LANE / 2, white: onDark(hex(color)) });
  }

  writeLabels() {
    const { context, labels } = this;
    context.textAlign = "left";
    for (const white of [true, false]) {
      context.fillStyle = white ? "#ffffff" : "#14181d";
      for (const label of labels) if (label.white === white) context.fillText(label.text, label.x, label.y);
    }
  }

  /**
   * @param {import("./data.js").Counter} counter
   * @param {number} top
   * @param {number} height
   */
  drawCounter(counter, top, height) {
    const { context, state, colors, strip } = this;
    const room = height - 4;
    const pixel = (state.to - state.from) / strip.width;
    const tall = new Uint8Array(strip.width);
    let i = firstAfter(counter.time, state.from);
    let now = i > 0 ? counter.value[i - 1] : 0;
    for (let x = 0; x < strip.width; x++) {
      // Of the values within a pixel the highest is drawn; the last one holds from there on.
      const next = nextAfter(counter.time, i, state.from + (x + 1) * pixel);
      const most = Math.max(now, highest(counter, i, next));
      if (next > i) now = counter.value[next - 1];
      i = next;
      if (most > 0) tall[x] = Math.max(1, Math.round((most / counter.most) * room));
    }
    const color = mixed(this.page, MEMSET, 0.6);
    const steps = levels(tall);
    if (steps.length <= FEW_STEPS) {
      context.fillStyle = hex(color);
      for (const { from, to, level } of steps) context.fillRect(GUTTER + from, top + height - level, to - from, level);
    } else {
      strip.area(strip.row(top + 4, room, room), room, tall, color);
    }
    this.drawn.rectangles += steps.length;
    this.drawn.rows++;
    context.fillStyle = colors.soft;
    context.fillText(`to ${inUnit(counter.most, counter.unit)}`, 12, top + LANE * 1.5);
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
   * @param {import("./source.js").Slice} slice
   * @param {boolean} atEnd
   */
  place({ track, lane, start, end }, atEnd) {
    const placed = this.layout.placed.find((placed) => placed.track === track && placed.lanes > lane);
    if (!placed) return null;
    const y = placed.top - this.state.scroll + AXIS + lane * LANE + LANE / 2;
    return { x: this.x(atEnd ? end : start), y };
  }

  drawMarked() {
    const { context, state, colors } = this;
    if (!state.marked || state.marked[1] < state.from || state.marked[0] > state.to) return;
    const [from, to] = state.marked.map((time) => Math.min(Math.max(this.x(time), GUTTER), state.width));
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

/**
 * Neighbours of one height.
 * @param {Uint8Array} tall
 */
function levels(tall) {
  const found = [];
  for (let from = 0, to = 0; from < tall.length; from = to) {
    while (to < tall.length && tall[to] === tall[from]) to++;
    if (tall[from]) found.push({ from, to, level: tall[from] });
  }
  return found;
}
