// From box to box by keys: out to what is around, in to what is inside, and to both sides.

/** @typedef {import("./boxes.js").Box} Box */

/**
 * @param {Box[]} boxes
 * @param {Box} from
 * @param {"in" | "out" | "left" | "right"} where
 * @returns {Box}
 */
export function neighbour(boxes, from, where) {
  const middle = from.left + from.width / 2;
  const row = from.row + { in: 1, out: -1, left: 0, right: 0 }[where];
  const there = boxes.filter((box) => box.row === row);
  if (where === "out") return there.find((box) => box.left <= middle && box.left + box.width >= middle) ?? from;
  if (where === "in") {
    const inside = there.filter((box) => box.left >= from.left - 1e-9 && box.left < from.left + from.width);
    return inside.reduce((widest, box) => (box.width > widest.width ? box : widest), inside[0]) ?? from;
  }
  const aside = there.filter((box) => (where === "left" ? box.left < from.left : box.left > from.left));
  const near = (/** @type {Box} */ box) => Math.abs(box.left - from.left);
  return aside.reduce((nearest, box) => (near(box) < near(nearest) ? box : nearest), aside[0]) ?? from;
}
