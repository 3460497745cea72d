// The tree of a flame graph in typed arrays: nodes in the order they were met, each after its parent.

import { Varints } from "../lib/packed.js";

/**
 * @typedef {object} Tree
 * @property {string[]} names
 * @property {string} unit
 * @property {boolean} upwards drawn so at first
 * @property {boolean} heavy
 * @property {Uint32Array} name
 * @property {Int32Array} parent -1 for the root
 * @property {Uint16Array} depth
 * @property {Float64Array} own what belongs to a node and to none of its children
 * @property {Float64Array} total with its children
 * @property {Float64Array | null} before the same of the run that this one is compared with
 * @property {Float64Array} times how many events
 * @property {Uint8Array} kind
 * @property {string[]} kinds
 * @property {Uint32Array[]} children in the order they were met
 */

/**
 * @param {Uint8Array} bytes
 * @returns {Tree}
 */
export function decodeTree(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const columns = new Varints(bytes, 4 + length);
  const count = header.nodes;
  const name = new Uint32Array(count);
  const parent = new Int32Array(count);
  const depth = new Uint16Array(count);
  const kind = new Uint8Array(count);
  const own = new Float64Array(count);
  const before = header.compared ? new Float64Array(count) : null;
  for (let i = 0; i < count; i++) name[i] = columns.next();
  for (let i = 0; i < count; i++) {
    parent[i] = i - columns.next();
    if (i === 0) parent[i] = -1;
    depth[i] = i === 0 ? 0 : depth[parent[i]] + 1;
  }
  for (let i = 0; i < count; i++) kind[i] = columns.next();
  const times = new Float64Array(count);
  for (let i = 0; i < count; i++) times[i] = columns.next();
  for (let i = 0; i < count; i++) own[i] = columns.next();
  if (before) for (let i = 0; i < count; i++) before[i] = columns.next();
  const total = own.slice();
  // Children come after their parents: from the end, every node is whole before it is added.
  for (let i = count - 1; i > 0; i--) {
    total[parent[i]] += total[i];
    if (before) before[parent[i]] += before[i];
  }
  const { names, unit, kinds, upwards, heavy } = header;
  const children = childrenOf(parent);
  return { names, unit, upwards, heavy, name, parent, depth, own, total, before, times, kind, kinds, children };
}

/** @param {Int32Array} parent */
function childrenOf(parent) {
  const counts = new Uint32Array(parent.length);
  for (let i = 1; i < parent.length; i++) counts[parent[i]]++;
  const children = Array.from(counts, (count) => new Uint32Array(count));
  counts.fill(0);
  for (let i = 1; i < parent.length; i++) children[parent[i]][counts[parent[i]]++] = i;
  return children;
}
