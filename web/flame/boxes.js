// Where the boxes of a flame graph are: only those that can be seen, below the node that is zoomed to.

/** @typedef {import("./tree.js").Tree} Tree */

/**
 * @typedef {object} Box
 * @property {number} node
 * @property {number} row
 * @property {number} left as a share of the width
 * @property {number} width
 */

/**
 * @param {Tree} tree
 * @param {Float64Array} weight what widths mean
 * @param {number} zoomed
 * @param {number} least the narrowest box, as a share of the width
 * @param {boolean} heavy largest first, rather than in the order they were met
 * @returns {Box[]}
 */
export function boxes(tree, weight, zoomed, least, heavy) {
  /** @type {Box[]} */
  const found = [];
  const path = pathTo(tree, zoomed);
  // What is around the node that is zoomed to spans the whole width.
  path.forEach((node, row) => found.push({ node, row, left: 0, width: 1 }));
  const whole = weight[zoomed] || 1;
  const open = [{ node: zoomed, row: path.length - 1, left: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    let left = next.left;
    const children = heavy
      ? [...tree.children[next.node]].sort((a, b) => weight[b] - weight[a])
      : tree.children[next.node];
    for (const node of children) {
      const width = weight[node] / whole;
      if (width > 0 && width >= least) {
        found.push({ node, row: next.row + 1, left, width });
        open.push({ node, row: next.row + 1, left });
      }
      left += width;
    }
  }
  return found;
}

/** From the root to a node. @param {Tree} tree @param {number} node */
export function pathTo(tree, node) {
  const path = [];
  for (let at = node; at >= 0; at = tree.parent[at]) path.unshift(at);
  return path;
}

/**
 * The nodes whose name contains all words of a text, and their share of all: what is inside another hit counts once.
 * @param {Tree} tree
 * @param {Float64Array} weight
 * @param {string} text
 */
export function findNodes(tree, weight, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  const names = tree.names.map((name) => {
    const lower = name.toLowerCase();
    return words.every((word) => lower.includes(word));
  });
  /** @type {Set<number>} */
  const nodes = new Set();
  const inside = new Uint8Array(tree.name.length);
  let total = 0;
  for (let i = 0; i < tree.name.length; i++) {
    const within = i > 0 && inside[tree.parent[i]];
    const hit = i > 0 && names[tree.name[i]];
    inside[i] = within || hit ? 1 : 0;
    if (hit) nodes.add(i);
    if (hit && !within) total += weight[i];
  }
  return { nodes, share: total / (weight[0] || 1), total };
}
