// A report has several views: what was found, the timeline, the flame graph. The address says which one is in sight.

import { byId } from "../lib/dom.js";
import { isFlame, openFlame } from "../flame/page.js";
import { openTimeline } from "../timeline/page.js";
import { isPlace } from "../timeline/state.js";

/** What makes a view come alive, the first time it is looked at. @type {Record<string, () => unknown>} */
const OPENERS = { flame: openFlame, timeline: openTimeline };

export function watchViews() {
  const names = ["report", "timeline", "flame"].filter((name) => document.getElementById(`view-${name}`));
  const opened = new Set();
  let inSight = "report";
  let left = 0;
  const show = () => {
    const name = viewOf(location.hash);
    if (inSight === "report" && name !== "report") left = scrollY;
    for (const other of names) {
      byId(`view-${other}`).hidden = other !== name;
      const link = document.querySelector(`nav a[href="#${other}"]`);
      if (other === name) link?.setAttribute("aria-current", "page");
      else link?.removeAttribute("aria-current");
    }
    if (name === "report" && inSight !== "report" && !document.getElementById(location.hash.slice(1))) scrollTo(0, left);
    inSight = name;
    if (!opened.has(name)) OPENERS[name]?.();
    opened.add(name);
  };
  addEventListener("hashchange", show);
  show();
}

/** @param {string} address */
function viewOf(address) {
  if (isFlame(address)) return "flame";
  return isPlace(address) ? "timeline" : "report";
}
