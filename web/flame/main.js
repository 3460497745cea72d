// The flame graph page.

import { MEANING, theme, tint } from "../lib/colors.js";
import { byId, element, oncePerFrame } from "../lib/dom.js";
import { unpack } from "../lib/packed.js";
import { grouped, inUnit } from "../lib/units.js";
import { boxes, findNodes, pathTo } from "./boxes.js";
import { decodeTree } from "./tree.js";

const ROW = 20;
const FONT = "12px system-ui, sans-serif";
const LETTER = 6.6;

class FlamePage {
  /** @param {import("./tree.js").Tree} tree */
  constructor(tree) {
    this.tree = tree;
    this.canvas = /** @type {HTMLCanvasElement} */ (byId("flame"));
    this.input = /** @type {HTMLInputElement} */ (byId("find"));
    this.zoomed = 0;
    this.upwards = false;
    this.heavy = true;
    /** @type {ReturnType<typeof findNodes>} */
    this.hits = null;
    /** @type {import("./boxes.js").Box[]} */
    this.boxes = [];
    this.rows = 1;
    this.drawn = { rectangles: 0, ms: 0 };
    this.redraw = oncePerFrame(() => this.draw());
    this.listen();
    this.open(location.hash);
  }

  listen() {
    window.addEventListener("resize", this.redraw);
    window.addEventListener("hashchange", () => this.open(location.hash));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.redraw);
    this.canvas.addEventListener("click", (event) => {
      const box = this.at(event);
      if (box) this.zoom(box.node);
    });
    this.canvas.addEventListener("mousemove", (event) => this.hover(event));
    this.input.addEventListener("input", () => this.search(this.input.value));
    byId("reset").addEventListener("click", () => this.zoom(0));
    byId("direction").addEventListener("click", () => {
      this.upwards = !this.upwards;
      this.save();
    });
    byId("order").addEventListener("click", () => {
      this.heavy = !this.heavy;
      this.save();
    });
    document.addEventListener("keydown", (event) => {
      if (event.target === this.input || event.ctrlKey || event.metaKey) return;
      if (event.key === "/") {
        event.preventDefault();
        this.input.focus();
      }
      if (event.key === "Escape" || event.key === "Home") this.zoom(0);
      if (event.key === "Backspace" && this.zoomed) this.zoom(this.tree.parent[this.zoomed]);
    });
  }

  /** @param {string} address */
  open(address) {
    const parts = new URLSearchParams(address.replace(/^#/, ""));
    const node = Number(parts.get("node") ?? 0);
    this.zoomed = Number.isInteger(node) && node >= 0 && node < this.tree.name.length ? node : 0;
    this.upwards = parts.get("direction") === "up";
    this.heavy = parts.get("order") !== "time";
    this.input.value = parts.get("find") ?? "";
    this.search(this.input.value);
  }

  save() {
    const parts = new URLSearchParams();
    if (this.zoomed) parts.set("node", String(this.zoomed));
    if (this.upwards) parts.set("direction", "up");
    if (!this.heavy) parts.set("order", "time");
    if (this.input.value) parts.set("find", this.input.value);
    history.replaceState(null, "", `#${parts}`);
    this.redraw();
  }

  /** @param {number} node */
  zoom(node) {
    this.zoomed = node;
    this.save();
  }

  /** @param {string} text */
  search(text) {
    this.hits = findNodes(this.tree, text);
    byId("found").textContent = this.hits
      ? `${grouped(this.hits.nodes.size)} frames · ${inUnit(this.hits.total, this.tree.unit)} · ${percent(this.hits.share)}`
      : "";
    this.save();
  }

  draw() {
    const begun = performance.now();
    const width = this.canvas.parentElement?.clientWidth ?? 800;
    this.boxes = boxes(this.tree, this.zoomed, 0.5 / width, this.heavy);
    this.rows = this.boxes.reduce((most, box) => Math.max(most, box.row), 0) + 1;
    const ratio = window.devicePixelRatio || 1;
    const height = this.rows * ROW;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = FONT;
    context.textBaseline = "middle";
    const colors = theme();
    for (const box of this.boxes) {
      const [x, y] = [box.left * width, this.y(box.row)];
      context.globalAlpha = this.hits && !this.hits.nodes.has(box.node) ? 0.25 : 1;
      context.fillStyle = this.color(box.node);
      context.fillRect(x, y, Math.max(box.width * width - 0.7, 0.5), ROW - 1);
      const room = Math.floor((box.width * width - 8) / LETTER);
      if (room >= 3) {
        context.fillStyle = this.ink(box.node, colors.ink);
        context.fillText(shortened(this.name(box.node), room), x + 4, y + ROW / 2);
      }
    }
    context.globalAlpha = 1;
    this.drawn = { rectangles: this.boxes.length, ms: performance.now() - begun };
    this.crumbs();
  }

  /** @param {number} row */
  y(row) {
    return (this.upwards ? this.rows - 1 - row : row) * ROW;
  }

  /** @param {number} node */
  name(node) {
    return node === 0 ? this.tree.root : this.tree.names[this.tree.name[node]];
  }

  /** Of two runs: red is slower than before, blue is faster. @param {number} node */
  color(node) {
    const { before, total, kinds, kind } = this.tree;
    if (before) {
      const most = Math.max(total[node], before[node]);
      const change = most ? (total[node] - before[node]) / most : 0;
      return change > 0.01 ? mixed("#D55E00", change) : change < -0.01 ? mixed("#0072B2", -change) : "#B8BEC8";
    }
    return MEANING[kinds[kind[node]]] ?? tint(this.name(node));
  }

  /** @param {number} node @param {string} ink */
  ink(node, ink) {
    const known = MEANING[this.tree.kinds[this.tree.kind[node]]];
    return this.tree.before || !known ? "#14181d" : known === MEANING.compute ? "#ffffff" : ink && "#14181d";
  }

  /** @param {MouseEvent} event */
  at(event) {
    const area = this.canvas.getBoundingClientRect();
    const share = (event.clientX - area.left) / area.width;
    const line = Math.floor((event.clientY - area.top) / ROW);
    const row = this.upwards ? this.rows - 1 - line : line;
    return this.boxes.find((box) => box.row === row && share >= box.left && share < box.left + box.width);
  }

  /** @param {MouseEvent} event */
  hover(event) {
    const box = this.at(event);
    this.canvas.style.cursor = box ? "pointer" : "default";
    byId("said").textContent = box ? this.say(box.node) : "";
  }

  /** @param {number} node */
  say(node) {
    const { total, own, before, unit } = this.tree;
    const parts = [
      this.name(node),
      inUnit(total[node], unit),
      `${percent(total[node] / (total[0] || 1))} of all`,
      `${inUnit(own[node], unit)} of its own`,
    ];
    if (before) parts.push(`${inUnit(before[node], unit)} before`);
    return parts.join(" · ");
  }

  crumbs() {
    const items = pathTo(this.tree, this.zoomed).map((node) => {
      const button = element("button", { type: "button", class: "link" }, shortened(this.name(node), 40));
      button.addEventListener("click", () => this.zoom(node));
      return element("li", {}, button);
    });
    byId("crumbs").replaceChildren(...items);
    byId("direction").textContent = this.upwards ? "Flame" : "Icicle";
    byId("order").textContent = this.heavy ? "Left heavy" : "In order of time";
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

/** From grey to a colour. @param {string} hex @param {number} share */
function mixed(hex, share) {
  const part = (/** @type {number} */ at) => {
    const full = parseInt(hex.slice(at, at + 2), 16);
    return Math.round(214 + (full - 214) * Math.min(1, 0.25 + share * 0.75));
  };
  return `rgb(${part(1)},${part(3)},${part(5)})`;
}

unpack("flame-data")
  .then((bytes) => {
    Object.assign(window, { gpuscope: new FlamePage(decodeTree(bytes)) });
    document.documentElement.dataset.ready = "true";
  })
  .catch((error) => {
    byId("said").textContent = `This page cannot be shown: ${error.message}`;
  });
