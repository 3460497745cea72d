// The page that is a timeline and nothing else.

import { openTimeline } from "./page.js";

openTimeline().then(() => {
  document.documentElement.dataset.ready = "true";
});
