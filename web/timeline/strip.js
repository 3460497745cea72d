// Columns of pixels, one for each pixel of a row: written as numbers and drawn at once, since thousands of small
// rectangles cost more to draw than to find.

import { mixed } from "../lib/colors.js";

const OPAQUE = 0xff000000;
/** Rows of pixels are made room for by so many. */
const ROWS = 256;

/** @typedef {{first: number, rows: number, y: number, height: number}} Piece */

export class Strip {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.width = 1;
    this.image = new ImageData(1, 1);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.page = 0;
    this.used = 0;
    /** @type {Piece[]} */
    this.pieces = [];
  }

  /** @param {number} width @param {number} page what shows through where little is */
  begin(width, page) {
    if (this.width !== width) this.resize(width, ROWS);
    this.pixels.fill(0, 0, this.used * width);
    this.page = page;
    this.used = 0;
    this.pieces = [];
  }

  /** @param {number} width @param {number} rows */
  resize(width, rows) {
    const before = this.width === width ? this.pixels : null;
    this.width = width;
    this.image = new ImageData(width, rows);
    this.pixels = new Uint32Array(this.image.data.buffer);
    if (before) this.pixels.set(before);
  }

  /**
   * Makes room for a piece of the picture, and says where its first pixel is.
   * @param {number} y where it is drawn
   * @param {number} height how tall
   * @param {number} rows of its own; each is as tall as all have room
   */
  row(y, height, rows = 1) {
    const first = this.used;
    this.used += rows;
    if (this.used > this.image.height) this.resize(this.width, this.used + ROWS);
    this.pieces.push({ first, rows, y, height });
    return first * this.width;
  }

  /**
   * @param {number} row
   * @param {number} left
   * @param {number} count
   * @param {number} color
   * @param {number} dense
   */
  columns(row, left, count, color, dense) {
    const pixel = packed(mixed(this.page, color, dense));
    const end = Math.min(left + count, this.width);
    for (let x = Math.max(left, 0); x < end; x++) this.pixels[row + x] = pixel;
  }

  /**
   * A piece filled from its foot upwards, in every column as far as that is tall.
   * @param {number} row
   * @param {number} rows of the piece
   * @param {Uint8Array} tall
   * @param {number} color
   */
  area(row, rows, tall, color) {
    const pixel = packed(color);
    const { pixels, width } = this;
    for (let up = rows, at = row; up > 0; up--, at += width) {
      for (let x = 0; x < tall.length; x++) if (tall[x] >= up) pixels[at + x] = pixel;
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {number} left */
  paste(context, left) {
    if (!this.used) return;
    const { canvas, image, width } = this;
    if (canvas.width !== width || canvas.height !== image.height) {
      canvas.width = width;
      canvas.height = image.height;
    }
    canvas.getContext("2d")?.putImageData(image, 0, 0, 0, 0, width, this.used);
    context.imageSmoothingEnabled = false;
    for (const { first, rows, y, height } of this.pieces) {
      context.drawImage(canvas, 0, first, width, rows, left, y, width, height);
    }
  }
}

/** As the browser keeps pixels: red first. @param {number} color */
function packed(color) {
  return (OPAQUE | ((color & 255) << 16) | (color & 0xff00) | (color >> 16)) >>> 0;
}
