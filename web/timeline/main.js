// The page that is a timeline and nothing else.

import { openTimeline } from "./page.js";

openTimeline().then(() => {
  performance.mark("ready");
  document.documentElement.dataset.ready = "true";
});
