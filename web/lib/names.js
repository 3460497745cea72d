// Names as they fit into a box: what tells them apart comes first, what all have in common is left out.

/** @param {string} name */
export function brief(name) {
  const frame = /^(?:.*\/)?([^/]+\.py)\((\d+)\): (.*)$/.exec(name);
  if (frame) return `${frame[3]} (${frame[1]}:${frame[2]})`;
  return name
    .replace(/^nn\.Module: /, "")
    .replace(/^void /, "")
    .replace(/\(anonymous namespace\)::|<unnamed>::|at::native::|std::|c10::/g, "")
    .replace(/\((?:[^()]|\([^()]*\))*\)$/, "");
}
