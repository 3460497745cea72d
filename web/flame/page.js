// A flame graph in a page: joins the parts and listens to keyboard and mouse.

import { hex, MEANING, mixed, rgb, theme, tint } from "../lib/colors.js";
import { byId, element, oncePerFrame } from "../lib/dom.js";
import { brief } from "../lib/names.js";
import { unpack } from "../lib/packed.js";
import { grouped, inUnit } from "../lib/units.js";
import { boxes, findNodes, pathTo } from "./boxes.js";
import { neighbour } from "./keyboard.js";
import { decodeTree } from "./tree.js";

/** @typedef {import("./boxes.js").Box} Box */

const ROW = 20;
/** At both sides. */
const MARGIN = 12;
/** Nobody reads more of a name in a box. */
const LONGEST_LABEL = 300;
const BOX_FONT = "12px system-ui, sans-serif";
const INSIDE = 8;
/** Changes are mixed from this. */
const PALE = 0xd6d6d6;
const EQUAL = "#B8BEC8";
const LEAST_CHANGE = 0.01;

/** Whether an address is a place in a flame graph. @param {string} address */
export function isFlame(address) {
  return address.startsWith("#flame");
}

export class FlamePage {
  /** @param {import("./tree.js").Tree} tree */
  constructor(tree) {
    this.tree = tree;
    this.canvas = /** @type {HTMLCanvasElement} */ (byId("flame-boxes"));
    this.scroller = byId("flame-scroller");
    this.spacer = byId("flame-spacer");
    this.input = /** @type {HTMLInputElement} */ (byId("flame-find"));
    this.keys = /** @type {HTMLDialogElement} */ (byId("flame-keys"));
    this.zoomed = 0;
    this.upwards = tree.upwards;
    this.heavy = tree.heavy;
    /** Widths are those of the run that this one is compared with. */
    this.earlier = false;
    /** The box that keys go from. */
    this.chosen = 0;
    /** @type {ReturnType<typeof findNodes>} */
    this.hits = null;
    /** @type {Box[]} */
    this.boxes = [];
    this.rows = 1;
    /** By name. @type {Map<number, {text: string, width: number}>} */
    this.labels = new Map();
    this.drawn = { rectangles: 0, ms: 0 };
    this.redraw = oncePerFrame(() => this.draw());
    this.listen();
    this.open(location.hash);
  }

  /** In a report the flame graph is one of several views. */
  get inSight() {
    return this.room > 0;
  }

  /** How wide boxes can be. */
  get room() {
    return this.scroller.clientWidth - 2 * MARGIN;
  }

  get weight() {
    return (this.earlier && this.tree.before) || this.tree.total;
  }

  listen() {
    window.addEventListener("resize", this.redraw);
    this.scroller.addEventListener("scroll", this.redraw);
    window.addEventListener("hashchange", () => isFlame(location.hash) && this.open(location.hash));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.redraw);
    this.canvas.addEventListener("click", (event) => {
      const box = this.at(event);
      if (box) this.zoom(box.node);
    });
    this.canvas.addEventListener("mousemove", (event) => this.hover(event));
    this.input.addEventListener("input", () => this.search(this.input.value));
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.canvas.focus();
    });
    byId("flame-reset").addEventListener("click", () => this.reset());
    byId("flame-direction").addEventListener("click", () => this.turn());
    byId("flame-order").addEventListener("click", () => this.sort());
    byId("flame-widths").addEventListener("click", () => {
      this.earlier = !this.earlier;
      this.search(this.input.value);
    });
    byId("flame-help").addEventListener("click", () => this.keys.showModal());
    document.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.target === this.input || event.ctrlKey || event.metaKey || event.altKey) return;
    if (this.keys.open || !this.inSight) return;
    const focused = event.target instanceof HTMLButtonElement;
    /** @type {Record<string, () => void>} */
    const keys = {
      "/": () => this.input.focus(),
      "?": () => this.keys.showModal(),
      i: () => this.turn(),
      o: () => this.sort(),
      r: () => this.reset(),
      Home: () => this.reset(),
      Escape: () => this.reset(),
      Backspace: () => this.zoom(Math.max(this.tree.parent[this.zoomed], 0)),
      Enter: () => this.zoom(this.chosen),
      ArrowLeft: () => this.step("left"),
      ArrowRight: () => this.step("right"),
      ArrowUp: () => this.step(this.upwards ? "in" : "out"),
      ArrowDown: () => this.step(this.upwards ? "out" : "in"),
    };
    const key = keys[event.key];
    if (!key || (focused && event.key === "Enter")) return;
    event.preventDefault();
    key();
  }

  turn() {
    this.upwards = !this.upwards;
    this.arrange();
    this.reveal(this.zoomed, true);
    this.save();
  }

  sort() {
    this.heavy = !this.heavy;
    this.save();
  }

  reset() {
    this.input.value = "";
    this.zoomed = this.chosen = 0;
    this.search("");
    this.arrange();
    this.reveal(0, true);
  }

  /** @param {"in" | "out" | "left" | "right"} where */
  step(where) {
    const from = this.boxes.find((box) => box.node === this.chosen) ?? this.boxes[0];
    this.chosen = neighbour(this.boxes, from, where).node;
    byId("flame-said").textContent = this.say(this.chosen);
    this.reveal(this.chosen);
    this.redraw();
  }

  /** @param {string} address */
  open(address) {
    const parts = new URLSearchParams(address.replace(/^#/, ""));
    const node = Number(parts.get("node") ?? 0);
    this.zoomed = Number.isInteger(node) && node >= 0 && node < this.tree.name.length ? node : 0;
    this.chosen = this.zoomed;
    this.upwards = parts.has("direction") ? parts.get("direction") === "up" : this.tree.upwards;
    this.heavy = parts.has("order") ? parts.get("order") !== "time" : this.tree.heavy;
    this.earlier = parts.get("widths") === "before" && this.tree.before !== null;
    this.input.value = parts.get("find") ?? "";
    this.search(this.input.value);
    this.arrange();
    this.reveal(this.zoomed, true);
  }

  save() {
    const parts = new URLSearchParams();
    if (!this.inSight) return;
    if (this.zoomed) parts.set("node", String(this.zoomed));
    if (this.upwards !== this.tree.upwards) parts.set("direction", this.upwards ? "up" : "down");
    if (this.heavy !== this.tree.heavy) parts.set("order", this.heavy ? "heavy" : "time");
    if (this.earlier) parts.set("widths", "before");
    if (this.input.value) parts.set("find", this.input.value);
    history.replaceState(null, "", parts.size ? `#flame&${parts}` : "#flame");
    this.redraw();
  }

  /** @param {number} node */
  zoom(node) {
    this.zoomed = this.chosen = node;
    byId("flame-said").textContent = this.say(node);
    this.arrange();
    this.reveal(node, true);
    this.save();
  }

  /** @param {string} text */
  search(text) {
    const { unit } = this.tree;
    this.hits = findNodes(this.tree, this.weight, text);
    byId("flame-found").textContent = this.hits
      ? `${grouped(this.hits.nodes.size)} found · ${inUnit(this.hits.total, unit)} · ${percent(this.hits.share)}`
      : "";
    this.save();
  }

  draw() {
    const begun = performance.now();
    if (!this.inSight) return;
    const width = this.room;
    this.arrange();
    const height = this.scroller.clientHeight;
    const context = this.fit(width, height);
    if (!context) return;
    const ink = theme().ink;
    const seeks = this.hits && this.hits.nodes.size > 0;
    for (const box of this.boxes) {
      const [x, y] = [box.left * width, this.y(box.row)];
      if (y < -ROW || y > height) continue;
      const wide = Math.max(box.width * width - 1, 0.5);
      const color = this.color(box.node);
      const faint = seeks && !this.hits?.nodes.has(box.node);
      context.globalAlpha = faint ? 0.25 : 1;
      context.fillStyle = color;
      context.fillRect(x, y, wide, ROW - 1);
      context.globalAlpha = 1;
      const text = wide > 3 * INSIDE ? this.label(context, box.node, wide - INSIDE) : "";
      if (text) {
        context.fillStyle = faint ? ink : onColor(color);
        context.fillText(text, x + INSIDE / 2, y + ROW / 2);
      }
      if (box.node === this.chosen && this.chosen) {
        context.strokeStyle = ink;
        context.strokeRect(x + 1, y + 1, Math.max(wide - 2, 1), ROW - 3);
      }
    }
    this.drawn = { rectangles: this.boxes.length, ms: performance.now() - begun };
  }

  /** Which boxes there are, and how far they reach. */
  arrange() {
    if (!this.inSight) return;
    this.boxes = boxes(this.tree, this.weight, this.zoomed, 0.5 / this.room, this.heavy);
    this.rows = this.boxes.reduce((most, box) => Math.max(most, box.row), 0) + 1;
    this.spacer.style.height = `${this.rows * ROW}px`;
    // The way back takes room, too.
    this.crumbs();
  }

  /**
   * Scrolls to a box, if it is out of sight, or in any case so that what is inside it has the room.
   * @param {number} node
   * @param {boolean} inside
   */
  reveal(node, inside = false) {
    const box = this.boxes.find((box) => box.node === node);
    if (!box) return;
    const { clientHeight } = this.scroller;
    const top = this.top(box.row);
    const inSight = top >= this.scroller.scrollTop && top + ROW <= this.scroller.scrollTop + clientHeight;
    // What is around the box stays in sight, as far as a few rows go.
    const around = Math.min(box.row, 3) * ROW;
    if (inside) this.scroller.scrollTop = this.upwards ? top + ROW + around - clientHeight : top - around;
    else if (!inSight) this.scroller.scrollTop = top - clientHeight / 2;
  }

  /**
   * As much of a name as there is room for; none if that says nothing.
   * @param {CanvasRenderingContext2D} context
   * @param {number} node
   * @param {number} room
   */
  label(context, node, room) {
    const name = this.tree.name[node];
    const known = this.labels.get(name) ?? { text: brief(this.name(node).slice(0, LONGEST_LABEL)), width: 0 };
    if (!known.width) {
      known.width = context.measureText(known.text).width || 1;
      this.labels.set(name, known);
    }
    if (known.width <= room) return known.text;
    // About as many letters as fit, if all were alike; less where they are wide.
    for (let letters = Math.floor((room / known.width) * known.text.length); letters >= 2; letters--) {
      const cut = `${known.text.slice(0, letters)}…`;
      if (context.measureText(cut).width <= room) return cut;
    }
    return "";
  }

  /** The canvas has as many pixels as the screen shows. @param {number} width @param {number} height */
  fit(width, height) {
    const { canvas } = this;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context?.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (context) [context.font, context.textBaseline] = [BOX_FONT, "middle"];
    return context;
  }

  /** Where a row is among all. @param {number} row */
  top(row) {
    return (this.upwards ? this.rows - 1 - row : row) * ROW;
  }

  /** Where it is on the canvas. @param {number} row */
  y(row) {
    return this.top(row) - this.scroller.scrollTop;
  }

  /** @param {number} node */
  name(node) {
    return this.tree.names[this.tree.name[node]];
  }

  /** Of two runs: orange is heavier than before, blue is lighter. @param {number} node */
  color(node) {
    const { before, total, kinds, kind } = this.tree;
    if (before) {
      const most = Math.max(total[node], before[node]);
      const change = most ? (total[node] - before[node]) / most : 0;
      if (Math.abs(change) <= LEAST_CHANGE) return EQUAL;
      const towards = rgb(change > 0 ? MEANING.critical : MEANING.compute);
      return hex(mixed(PALE, towards, Math.min(1, 0.25 + Math.abs(change) * 0.75)));
    }
    return node === 0 ? EQUAL : (MEANING[kinds[kind[node]]] ?? tint(this.name(node)));
  }

  /** @param {MouseEvent} event */
  at(event) {
    const area = this.canvas.getBoundingClientRect();
    const share = (event.clientX - area.left) / area.width;
    const line = Math.floor((event.clientY - area.top + this.scroller.scrollTop) / ROW);
    const row = this.upwards ? this.rows - 1 - line : line;
    return this.boxes.find((box) => box.row === row && share >= box.left && share < box.left + box.width);
  }

  /** @param {MouseEvent} event */
  hover(event) {
    const box = this.at(event);
    this.canvas.style.cursor = box ? "pointer" : "default";
    this.canvas.title = box ? this.name(box.node) : "";
    byId("flame-said").textContent = box ? this.say(box.node) : "";
  }

  /** @param {number} node */
  say(node) {
    const { total, own, before, times, unit, kinds, kind } = this.tree;
    const parts = [
      this.name(node),
      inUnit(total[node], unit),
      `${percent(total[node] / (total[0] || 1))} of all`,
      `${inUnit(own[node], unit)} of its own`,
    ];
    if (node) parts.push(`${kinds[kind[node]]}, ${grouped(times[node])} ×`);
    if (before) parts.push(`${inUnit(before[node], unit)} before`);
    return parts.join(" · ");
  }

  crumbs() {
    const items = pathTo(this.tree, this.zoomed).map((node) => {
      const button = element("button", { type: "button", class: "link" }, shortened(this.name(node), 40));
      button.addEventListener("click", () => this.zoom(node));
      return element("li", {}, button);
    });
    byId("flame-crumbs").replaceChildren(...items);
    byId("flame-crumbs").scrollTop = byId("flame-crumbs").scrollHeight;
    byId("flame-direction").textContent = this.upwards ? "Flame" : "Icicle";
    byId("flame-order").textContent = this.heavy ? "Heaviest first" : "In order of time";
    byId("flame-widths").textContent = this.earlier ? "Widths: before" : "Widths: now";
    const weight = inUnit(this.weight[this.zoomed], this.tree.unit);
    const label = `Flame graph of ${this.name(this.zoomed)}, ${weight}, ${this.boxes.length} boxes`;
    this.canvas.setAttribute("aria-label", label);
  }
}

/** @param {number} share */
function percent(share) {
  return `${(share * 100).toFixed(1)} %`;
}

/** @param {string} text @param {number} most */
function shortened(text, most) {
  return text.length <= most ? text : `${text.slice(0, Math.max(most - 1, 1))}…`;
}

/** White or black, whichever can be read. @param {string} color */
function onColor(color) {
  const value = rgb(color);
  const light = ((value >> 16) & 255) * 0.3 + ((value >> 8) & 255) * 0.59 + (value & 255) * 0.11;
  return light < 130 ? "#ffffff" : "#14181d";
}

/** Shows the flame graph that the page holds. @returns {Promise<FlamePage>} */
export async function openFlame() {
  try {
    return new FlamePage(decodeTree(await unpack("flame-data")));
  } catch (error) {
    byId("flame-said").textContent = `This flame graph cannot be shown: ${/** @type {Error} */ (error).message}`;
    throw error;
  }
}
