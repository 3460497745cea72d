// Charts are painted as SVG before any script runs. When one comes into sight, plotly takes it over.

import { theme } from "../lib/colors.js";
import { unpack } from "../lib/packed.js";

/**
 * @typedef {{data: Record<string, any>[], layout: Record<string, any>}} Plot
 * @typedef {{newPlot: (where: HTMLElement, data: object[], layout: object, config: object) => Promise<unknown>,
 *   relayout: (where: HTMLElement, layout: object) => Promise<unknown>}} Plotly
 */

/** @type {Promise<Plotly> | null} */
let library = null;
/** @type {Promise<Record<string, Plot>> | null} */
let plots = null;

/** The library is inside the page, deflated; its hash is in the page's policy. */
function plotly() {
  library ??= unpack("plotly-library").then((bytes) => {
    const script = document.createElement("script");
    script.textContent = new TextDecoder().decode(bytes);
    document.head.append(script);
    return /** @type {{Plotly: Plotly}} */ (/** @type {unknown} */ (window)).Plotly;
  });
  return library;
}

function figures() {
  plots ??= unpack("figures-data").then((bytes) => JSON.parse(new TextDecoder().decode(bytes)));
  return plots;
}

export function watchCharts() {
  const charts = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("figure[data-figure]")]);
  if (!charts.length) return;
  const observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries.filter((entry) => entry.isIntersecting)) {
        observer.unobserve(entry.target);
        takeOver(/** @type {HTMLElement} */ (entry.target));
      }
    },
    { rootMargin: "200px" },
  );
  charts.forEach((chart) => observer.observe(chart));
  document.querySelectorAll(".turns").forEach(takeTurns);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", async () => {
    const { relayout } = await plotly();
    for (const drawn of document.querySelectorAll(".js-plotly-plot")) {
      relayout(/** @type {HTMLElement} */ (drawn), { ...dress({}), ...axisColors(drawn) });
    }
  });
}

/** Of charts that are alike, the one that was picked is in sight. @param {Element} group */
function takeTurns(group) {
  const charts = /** @type {HTMLElement[]} */ ([...group.querySelectorAll("figure")]);
  const select = group.querySelector("select");
  select?.addEventListener("change", () => {
    const height = charts.find((chart) => !chart.hidden)?.offsetHeight ?? 0;
    charts.forEach((chart, i) => (chart.hidden = i !== select.selectedIndex));
    const chosen = charts[select.selectedIndex];
    // What is below does not jump.
    chosen.style.minHeight = `${height}px`;
  });
}

/** @param {HTMLElement} chart */
async function takeOver(chart) {
  const [library, all] = await Promise.all([plotly(), figures()]);
  const plot = all[chart.dataset.figure ?? ""];
  if (!plot) return;
  const svg = chart.querySelector("svg");
  const place = document.createElement("div");
  const height = svg?.getBoundingClientRect().height ?? parseFloat(chart.style.minHeight) - 40;
  place.style.height = `${Math.max(height || 0, 260)}px`;
  if (svg) svg.replaceWith(place);
  else chart.append(place);
  const layout = place.clientWidth < NARROW ? below(dress(plot.layout)) : dress(plot.layout);
  if (layout.height) place.style.height = `${layout.height}px`;
  await library.newPlot(place, plot.data, layout, {
    responsive: true,
    displaylogo: false,
    // There is nothing to be done with points that are selected.
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    toImageButtonOptions: { filename: chart.dataset.figure, scale: 2 },
  });
  chart.dataset.live = "true";
}

/** On less than this, panels beside each other leave no room for what they show. */
const NARROW = 600;

/** Puts panels below each other that are beside each other. @param {Record<string, any>} layout */
function below(layout) {
  const width = (/** @type {string} */ key) => {
    const [from, to] = layout[key].domain ?? [0, 1];
    return to - from;
  };
  const beside = Object.keys(layout).filter((key) => /^xaxis/.test(key) && width(key) < 0.9);
  if (beside.length < 2) return layout;
  const share = 1 / beside.length;
  /** @type {Record<string, any>} */
  const stacked = { ...layout, height: 260 * beside.length };
  beside.forEach((key, i) => {
    const top = 1 - i * share;
    stacked[key] = { ...layout[key], domain: [0, 1] };
    const other = key.replace("x", "y");
    stacked[other] = { ...layout[other], domain: [top - 0.8 * share, top - 0.1 * share] };
  });
  return stacked;
}

/** The page's own colours and type. @param {Record<string, any>} layout */
function dress(layout) {
  const colors = theme();
  /** @type {Record<string, any>} */
  const dressed = {
    ...layout,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 12, color: colors.ink },
    margin: { l: 60, r: 20, t: 30, b: 45 },
    hoverlabel: { align: "left" },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colors.soft, activecolor: colors.ink },
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, ...layout.legend },
    transition: { duration: 0 },
  };
  for (const key of Object.keys(layout).filter((key) => /^[xy]axis/.test(key))) {
    dressed[key] = { ...layout[key], gridcolor: colors.line, linecolor: colors.soft };
  }
  return dressed;
}

/** @param {Element} drawn */
function axisColors(drawn) {
  const { line, soft } = theme();
  const layout = /** @type {{layout: Record<string, unknown>}} */ (/** @type {unknown} */ (drawn)).layout;
  /** @type {Record<string, string>} */
  const colors = {};
  for (const key of Object.keys(layout).filter((key) => /^[xy]axis/.test(key))) {
    colors[`${key}.gridcolor`] = line;
    colors[`${key}.linecolor`] = soft;
  }
  return colors;
}
