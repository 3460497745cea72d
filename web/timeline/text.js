// Names and times as they fit into a timeline.

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
export function tickText(time, step) {
  const [name, size] = time >= 1e9 ? ["s", 1e9] : time >= 1e6 ? ["ms", 1e6] : time >= 1e3 ? ["µs", 1e3] : ["ns", 1];
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / Number(size))));
  return `${(time / Number(size)).toFixed(Math.min(decimals, 9))} ${name}`;
}

/** @param {string} text @param {number} most */
export function cut(text, most) {
  return text.length <= most ? text : `${text.slice(0, Math.max(most - 1, 0))}…`;
}

/** @param {string} color as `#rrggbb` */
export function onDark(color) {
  const value = parseInt(color.slice(1), 16);
  return ((value >> 16) & 255) * 0.3 + ((value >> 8) & 255) * 0.59 + (value & 255) * 0.11 < 130;
}
