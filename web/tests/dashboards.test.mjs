// The dashboards of `gpuscope bench` and the trends of `gpuscope history` in a real browser.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";

import { Browser, Folder, gpuscope, live } from "./support.mjs";

const FAMILY = {
  gpt_nano: [1.32, 3, 3, 48],
  gpt_micro: [3.7, 4, 4, 128],
  gpt_mini: [11.5, 6, 6, 192],
  gpt_tile_small: [1.5, 4, 4, 64],
  gpt_tile_medium: [5.27, 6, 4, 128],
  gpt_tile_large: [29.31, 8, 8, 256],
};

/** What `bench run` writes, with every time multiplied. */
function measured(run, nth, scale) {
  const benchmarks = {};
  for (const [name, [mean, layers, heads, width]] of Object.entries(FAMILY)) {
    const samples = Array.from({ length: 20 }, (_, i) => mean * scale * (0.98 + 0.002 * i));
    const middle = samples.reduce((sum, sample) => sum + sample, 0) / 20;
    benchmarks[name] = {
      config: { n_layer: layers, n_head: heads, n_embd: width },
      timing: { mean: middle, std: 0.02 * middle, min: samples[0], max: samples[19], median: middle, p95: samples[18], p99: samples[19] },
      throughput_tokens_per_sec: 256_000 / middle,
      batch_size: 4,
      seq_len: 64,
      samples_ms: samples,
    };
  }
  const at = new Date(Date.UTC(2026, 0, 1, 0, nth)).toISOString();
  return JSON.stringify({ metadata: { run_id: run, timestamp: at, gpu_name: "NVIDIA <GB10>", label: run }, benchmarks });
}

describe("dashboards", () => {
  const folder = new Folder();
  /** @type {Browser} */
  let browser;
  let dashboard;
  let comparison;
  let trend;

  before(async () => {
    const write = (name, ...what) => (writeFileSync(folder.file(name), measured(...what)), folder.file(name));
    const [slow, fast] = [write("before.json", "before", 0, 1), write("after.json", "after", 1, 0.5)];
    [dashboard, comparison, trend] = ["dashboard.html", "comparison.html", "trend.html"].map((name) => folder.file(name));
    gpuscope("bench", "report", slow, "-o", dashboard);
    gpuscope("bench", "compare", slow, fast, "-o", comparison);
    const runs = Array.from({ length: 20 }, (_, i) => write(`run${i}.json`, `run${i}`, i + 2, i < 12 ? 1 + 0.001 * (i % 5) : 1.2 + 0.001 * (i % 5)));
    gpuscope("history", "add", ...runs, "--db", folder.file("history.db"), "--project", "p");
    gpuscope("history", "trend", "--metric", "latency", "--db", folder.file("history.db"), "--project", "p", "-o", trend);
    browser = await Browser.start();
  });

  after(async () => {
    await browser?.close();
    folder.remove();
  });

  test("say the fastest and where it was measured before any script has run", async () => {
    await browser.visit(dashboard, { scripts: false }, async (page) => {
      assert.match(await page.textContent("h1"), /fastest of 6 configurations is gpt_nano \(1\.3\d+ ms/);
      assert.match(await page.textContent(".panel"), /NVIDIA <GB10>/);
      assert.match(await page.textContent(".numbers"), /Best tile config.*gpt_tile_small/s);
      assert.equal(await page.locator("figure[data-figure] svg").count(), 5);
      assert.equal(await page.locator("table[data-name=benchmarks] tbody tr").count(), 6);
    });
  });

  test("have five charts that plotly takes over, with error bars and the data of the file", async () => {
    await browser.visit(dashboard, {}, async (page) => {
      const names = ["latency", "throughput", "percentiles", "architecture", "efficiency"];
      for (const name of names) await live(page, page.locator(`figure[data-figure="${name}"]`));
      const latency = await traces(page, "latency");
      assert.deepEqual(latency[0].y.map((ms) => Math.round(ms * 100) / 100), [1.32, 3.7, 11.49, 1.5, 5.26, 29.28]);
      assert.ok(latency[0].error_y.array.every((reach) => reach > 0));
      const lines = await traces(page, "percentiles");
      assert.deepEqual(lines.map(({ name }) => name), Object.keys(FAMILY));
      const axes = await page.locator('figure[data-figure="architecture"] .js-plotly-plot').evaluate((plot) =>
        Object.keys(plot.layout).filter((key) => key.startsWith("xaxis")).length,
      );
      assert.equal(axes, 3);
      const tools = await page.locator('figure[data-figure="latency"] .modebar').boundingBox();
      assert.ok(tools.height < 40, `the tools of a chart are one row, not ${tools.height} px`);
    });
  });

  test("compare two runs: faster, by how much, and how sure that is", async () => {
    await browser.visit(comparison, {}, async (page) => {
      assert.match(await page.textContent("h1"), /after is 2\.00 × as fast as before/);
      for (const name of ["compared_latency", "compared_throughput", "speedup"]) {
        await live(page, page.locator(`figure[data-figure="${name}"]`));
      }
      const [speedup] = await traces(page, "speedup");
      assert.ok(speedup.y.every((times) => Math.abs(times - 2) < 1e-6));
      assert.match(await page.textContent("table[data-name=comparison]"), /2\.00 × \(1\.\d+ to 2\.\d+\)/);
    });
  });

  test("show where a level changed", async () => {
    await browser.visit(trend, {}, async (page) => {
      assert.match(await page.textContent("h1"), /6 of 6 numbers changed their level/);
      const chart = page.locator('figure[data-figure="trend"]');
      await live(page, chart);
      const [, level] = await traces(page, "trend");
      assert.deepEqual(level.x, [1, 13, 20], "from the first run, from the thirteenth, to the last");
      const names = await page.locator(".turns option").allTextContents();
      assert.equal(names.length, 6);
    });
  });
});

/** The data of a chart that is live. */
function traces(page, name) {
  return page.locator(`figure[data-figure="${name}"] .js-plotly-plot`).evaluate((plot) =>
    plot.data.map(({ name, x, y, error_y }) => ({ name, x: [...(x ?? [])], y: [...(y ?? [])], error_y })),
  );
}
