// The report page: tables, charts and views come alive.

import { watchCharts } from "./charts.js";
import { enliven } from "./tables.js";
import { watchViews } from "./views.js";

for (const table of document.querySelectorAll("table[data-name]")) enliven(/** @type {HTMLTableElement} */ (table));
watchCharts();
watchViews();
performance.mark("ready");
document.documentElement.dataset.ready = "true";
