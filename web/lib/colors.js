// What a colour means, as in the charts; and colours for names that have no meaning of their own.

/** @type {Record<string, string>} */
export const MEANING = {
  compute: "#0072B2",
  communication: "#E69F00",
  copy: "#009E73",
  memset: "#56B4E9",
  idle: "#B8BEC8",
  host: "#CC79A7",
  critical: "#D55E00",
};

/** Quiet colours, so that those with a meaning stand out. */
const HOST_TINTS = ["#8FA3BF", "#A7B8A0", "#C2A98F", "#A99BC0", "#9DB8B5", "#BFA3A8", "#B5B08E", "#98A6B8"];

/**
 * The same name always has the same colour.
 * @param {string} name
 */
export function tint(name) {
  let hash = 0;
  for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) | 0;
  return HOST_TINTS[Math.abs(hash) % HOST_TINTS.length];
}

/** A colour as a number. @param {string} color as `#rrggbb` or `#rgb` */
export function rgb(color) {
  const digits = color.slice(1);
  return parseInt(digits.length === 3 ? digits.replace(/./g, "$&$&") : digits, 16);
}

/** @param {number} color */
export function hex(color) {
  return `#${color.toString(16).padStart(6, "0")}`;
}

/**
 * So much of the upper colour over the lower one.
 * @param {number} lower
 * @param {number} upper
 * @param {number} share
 */
export function mixed(lower, upper, share) {
  const part = (/** @type {number} */ shift) => {
    const [below, above] = [(lower >> shift) & 255, (upper >> shift) & 255];
    return Math.round(below + (above - below) * share) << shift;
  };
  return part(16) | part(8) | part(0);
}

/** Colours of text and lines in the page's theme. */
export function theme() {
  const style = getComputedStyle(document.documentElement);
  const of = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  return { page: of("--page"), ink: of("--ink"), soft: of("--soft"), line: of("--line"), head: of("--head") };
}
