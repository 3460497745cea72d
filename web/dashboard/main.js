// The pages that only a server has: the runs of the folder, as they land, and answers that are still being worked out.

import { showRuns } from "./runs.js";
import { follow } from "./working.js";

if (document.getElementById("runs")) showRuns();
const working = document.getElementById("working");
if (working) follow(working);
performance.mark("ready");
document.documentElement.dataset.ready = "true";
