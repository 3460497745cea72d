// The page that is a flame graph and nothing else.

import { openFlame } from "./page.js";

openFlame().then((page) => {
  // For tests and for the curious.
  Object.assign(window, { gpuscope: page });
  performance.mark("ready");
  document.documentElement.dataset.ready = "true";
});
