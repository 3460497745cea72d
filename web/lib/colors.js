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

/** Colours of text and lines in the page's theme. */
export function theme() {
  const style = getComputedStyle(document.documentElement);
  const of = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  return { page: of("--page"), ink: of("--ink"), soft: of("--soft"), line: of("--line"), head: of("--head") };
}
