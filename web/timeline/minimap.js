// The whole run in one strip: how busy GPUs were, and which part is in sight.

import { MEANING, theme } from "../lib/colors.js";
import { GUTTER } from "./layout.js";

/** @typedef {import("./data.js").Timeline} Timeline */
/** @typedef {import("./state.js").State} State */

const HEIGHT = 34;
const COLUMNS = 600;

export class Minimap {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Timeline} timeline
   * @param {State} state
   */
  constructor(canvas, timeline, state) {
    this.canvas = canvas;
    this.state = state;
    this.busy = timeline.busy ?? busyShares(timeline, state.length);
    this.whole = document.createElement("canvas");
    /** What it was drawn for. */
    this.look = "";
  }

  draw() {
    const { canvas, state } = this;
    const ratio = window.devicePixelRatio || 1;
    const colors = theme();
    const look = `${state.width} ${ratio} ${colors.page}`;
    if (look !== this.look) this.drawWhole(colors, ratio);
    this.look = look;
    const context = canvas.getContext("2d");
    if (!context) return;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.whole, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const [from, to] = [this.x(state.from), this.x(state.to)];
    context.fillStyle = colors.page;
    context.globalAlpha = 0.7;
    context.fillRect(GUTTER, 0, from - GUTTER, HEIGHT);
    context.fillRect(to, 0, state.width - to, HEIGHT);
    context.globalAlpha = 1;
    context.strokeStyle = MEANING.critical;
    context.strokeRect(from + 0.5, 0.5, Math.max(to - from - 1, 2), HEIGHT - 1);
  }

  /** Drawn once: only what is in sight changes. @param {ReturnType<typeof theme>} colors @param {number} ratio */
  drawWhole(colors, ratio) {
    const { canvas, whole, state } = this;
    canvas.width = whole.width = Math.round(state.width * ratio);
    canvas.height = whole.height = HEIGHT * ratio;
    const context = whole.getContext("2d");
    if (!context) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colors.page;
    context.fillRect(0, 0, state.width, HEIGHT);
    context.fillStyle = colors.head;
    context.fillRect(GUTTER, 0, state.width - GUTTER, HEIGHT);
    const width = (state.width - GUTTER) / COLUMNS;
    context.fillStyle = MEANING.compute;
    this.busy.forEach((share, i) => {
      const height = share * (HEIGHT - 4);
      context.fillRect(GUTTER + i * width, HEIGHT - height, width + 0.5, height);
    });
  }

  /** @param {number} time */
  x(time) {
    const share = Math.min(Math.max(time / this.state.length, 0), 1);
    return GUTTER + share * (this.state.width - GUTTER);
  }

  /** @param {number} x */
  time(x) {
    return ((x - GUTTER) / (this.state.width - GUTTER)) * this.state.length;
  }
}

/**
 * For each column the share of it that GPU streams were busy, in the mean over streams.
 * @param {Timeline} timeline
 * @param {number} length
 */
function busyShares(timeline, length) {
  const shares = new Float64Array(COLUMNS);
  const lanes = timeline.tracks.filter((track) => track.sort === "gpu").flatMap((track) => track.lanes.slice(0, 1));
  const column = length / COLUMNS;
  for (const lane of lanes) {
    for (let i = 0; i < lane.count; i++) {
      for (let at = Math.floor(lane.start[i] / column); at < COLUMNS && at * column < lane.end[i]; at++) {
        const inside = Math.min(lane.end[i], (at + 1) * column) - Math.max(lane.start[i], at * column);
        if (inside > 0 && at >= 0) shares[at] += inside / column;
      }
    }
  }
  const most = Math.max(1, ...shares);
  return Array.from(shares, (share) => share / most);
}
