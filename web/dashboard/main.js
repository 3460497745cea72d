// The dashboard's first page: the runs of the folder, as they land.

import { showRuns } from "./runs.js";

if (document.getElementById("runs")) showRuns();
performance.mark("ready");
document.documentElement.dataset.ready = "true";
