// The report page: tables and charts come alive.

import { watchCharts } from "./charts.js";
import { enliven } from "./tables.js";

for (const table of document.querySelectorAll("table[data-name]")) enliven(/** @type {HTMLTableElement} */ (table));
watchCharts();
document.documentElement.dataset.ready = "true";
