// The report of `gpuscope analyze` in a real browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";

import { Browser, Folder, drawn, gpuscope, live } from "./support.mjs";

describe("the report", () => {
  const folder = new Folder();
  /** @type {Browser} */
  let browser;
  let report;
  let answer;

  before(async () => {
    const traces = folder.demo("job", { ranks: 4, bytes: "3MB" });
    report = folder.file("report.html");
    gpuscope("analyze", traces, "-o", report);
    answer = JSON.parse(gpuscope("analyze", traces, "--json")).data;
    browser = await Browser.start();
  });

  after(async () => {
    await browser?.close();
    folder.remove();
  });

  test("says what to do before any script has run", async () => {
    await browser.visit(report, { scripts: false }, async (page) => {
      assert.equal(await page.textContent("h1"), answer.verdict);
      assert.equal(await page.locator(".numbers > div").count(), 6);
      const shown = await page.locator("ol.findings > li").evaluateAll((items) => items.map((item) => item.dataset.finding));
      assert.deepEqual(shown, answer.findings.slice(0, 5).map(({ id }) => id));
      assert.ok((await page.locator("figure[data-figure] svg").count()) >= 8);
      assert.ok((await page.locator("#kernels tbody tr:visible").count()) > 10);
    });
  });

  test("has a step whose parts make it up", async () => {
    await browser.visit(report, {}, async (page) => {
      const parts = await page.locator(".stacked span").evaluateAll((spans) =>
        spans.map((span) => ({ ns: Number(span.dataset.ns), width: span.getBoundingClientRect().width })),
      );
      const sum = parts.reduce((sum, { ns }) => sum + ns, 0);
      const whole = parts.reduce((sum, { width }) => sum + width, 0);
      for (const { ns, width } of parts.filter(({ width }) => width > 3)) {
        assert.ok(Math.abs(width / whole - ns / sum) < 0.02, `${ns} ns of ${sum} are ${width} px of ${whole}`);
      }
      const caption = await page.textContent(".step figcaption");
      assert.match(caption, /step \d+ of rank \d/);
    });
  });

  test("keeps its headings in order", async () => {
    await browser.visit(report, {}, async (page) => {
      const levels = await page.locator("#view-report :is(h1,h2,h3)").evaluateAll((all) => all.map(({ tagName }) => Number(tagName[1])));
      assert.equal(levels.filter((level) => level === 1).length, 1);
      levels.reduce((before, level) => (assert.ok(level <= before + 1), level), 0);
    });
  });

  test("lets plotly take a chart over, with the same data", async () => {
    await browser.visit(report, {}, async (page) => {
      const chart = page.locator('figure[data-figure="bottlenecks"]');
      await live(page, chart);
      const traces = await chart.locator(".js-plotly-plot").evaluate((plot) =>
        plot.data.map(({ type, name, x, y }) => ({ type, name, x: [...(x ?? [])], y: [...(y ?? [])] })),
      );
      const bars = traces.filter(({ type }) => type === "bar");
      // Milliseconds or seconds: the largest of the page is the largest of the data.
      const sums = new Map();
      for (const { name, sum_ns } of answer.kernels.kernels) sums.set(name, (sums.get(name) ?? 0) + sum_ns);
      const largest = Math.max(...sums.values());
      const drawn = Math.max(...bars.flatMap(({ x }) => x.filter(Number.isFinite)));
      const scale = [1, 1e3, 1e6, 1e9].find((scale) => Math.abs(drawn * scale - largest) < largest * 1e-6);
      assert.ok(scale, `${drawn} is ${largest} ns in no unit`);
      assert.ok(traces.some(({ type }) => type === "scatter"));
    });
  });

  test("answers the mouse on a chart: hover, zoom, pan, series", async () => {
    await browser.visit(report, {}, async (page) => {
      const chart = page.locator('figure[data-figure="bottlenecks"]');
      await live(page, chart);
      const plot = chart.locator(".js-plotly-plot");
      // A layer that catches the mouse lies over the bars.
      const bar = await chart.locator(".barlayer .point path").first().boundingBox();
      await page.mouse.move(bar.x + bar.width / 2, bar.y + bar.height / 2, { steps: 3 });
      await chart.locator(".hoverlayer .hovertext").first().waitFor();

      const range = () => plot.evaluate((plot) => [...plot.layout.xaxis.range ?? plot._fullLayout.xaxis.range]);
      const before = await range();
      const area = await chart.locator(".nsewdrag").first().boundingBox();
      const drag = async (from, to) => {
        await page.mouse.move(area.x + area.width * from, area.y + area.height / 2);
        await page.mouse.down();
        await page.mouse.move(area.x + area.width * to, area.y + area.height / 2, { steps: 6 });
        await page.mouse.up();
      };
      await drag(0.2, 0.6);
      await page.waitForFunction(
        ([plot, before]) => plot._fullLayout.xaxis.range[1] < before,
        [await plot.elementHandle(), before[1]],
      );
      const zoomed = await range();
      await plot.evaluate((plot) => plot.querySelector('[data-attr="dragmode"][data-val="pan"]').click());
      await drag(0.5, 0.3);
      await page.waitForFunction(
        ([plot, from]) => plot._fullLayout.xaxis.range[0] > from,
        [await plot.elementHandle(), zoomed[0]],
      );
      const panned = await range();
      assert.ok(Math.abs(panned[1] - panned[0] - (zoomed[1] - zoomed[0])) < (zoomed[1] - zoomed[0]) * 1e-6);

      const names = await plot.evaluate((plot) => plot.data.map(({ name }) => name));
      assert.ok(names.length >= 2);
      await chart.locator(".legendtoggle").first().click();
      await page.waitForFunction(
        (plot) => plot._fullData.some(({ visible }) => visible === "legendonly"),
        await plot.elementHandle(),
      );
    });
  });

  test("draws every chart that it holds", async () => {
    await browser.visit(report, {}, async (page) => {
      await page.evaluate(() => document.querySelectorAll("details.more").forEach((more) => (more.open = true)));
      const charts = page.locator("figure[data-figure]:visible");
      const names = await charts.evaluateAll((all) => all.map(({ dataset }) => dataset.figure));
      assert.ok(names.length >= 12, names.join(" "));
      for (const name of names) {
        const chart = page.locator(`figure[data-figure="${name}"]`);
        await live(page, chart);
        const { marks, wanted } = await chart.locator(".js-plotly-plot").evaluate((plot) => ({
          marks: plot.querySelectorAll(".point, .slice, .heatmaplayer image, .js-line, .box, .js-fill").length,
          wanted: plot.data.filter(({ visible }) => visible !== "legendonly").length,
        }));
        assert.ok(wanted > 0 && marks >= wanted, `${name}: ${marks} marks of ${wanted} series`);
      }
    });
  });

  test("lets a rank be picked, whose pies hold its kernels", async () => {
    await browser.visit(report, {}, async (page) => {
      await page.evaluate(() => document.querySelectorAll("details.more").forEach((more) => (more.open = true)));
      await page.locator("#kernels .turns select").selectOption({ index: 2 });
      const chart = page.locator('figure[data-figure="top_kernels_3"]');
      await live(page, chart);
      assert.equal(await chart.locator("figcaption").textContent(), "Top kernels of each kind, rank 2");
      assert.equal(await page.locator("#kernels .turns figure:visible").count(), 1);
      const pies = await chart.locator(".js-plotly-plot").evaluate((plot) =>
        plot.calcdata.map((slices) => slices.map(({ v }) => v)),
      );
      const rows = answer.kernels.kernels.filter(({ rank }) => rank === 2);
      const whole = rows.reduce((sum, { sum_ns }) => sum + sum_ns, 0);
      const drawn = pies.flat().reduce((sum, value) => sum + value, 0);
      assert.equal(drawn, whole);
      const [computation] = pies;
      const largest = rows.filter(({ kernel_type }) => kernel_type === "COMPUTATION").map(({ sum_ns }) => sum_ns);
      // Slices of names that look alike are not one.
      assert.deepEqual(computation.slice(0, 5), largest.sort((a, b) => b - a).slice(0, 5));
    });
  });

  test("has its flame graph", async () => {
    await browser.visit(report, { address: "#calls" }, async (page) => {
      await page.click('#calls a[href="#flame"]');
      await page.waitForFunction(() => document.getElementById("flame-boxes")?.width > 300);
      await page.fill("#flame-find", "nccl");
      const share = Number(/([\d.]+) %/.exec(await page.textContent("#flame-found"))[1]);
      const rows = answer.kernels.kernels;
      const sum = (rows) => rows.reduce((sum, { sum_ns }) => sum + sum_ns, 0);
      const expected = (sum(rows.filter(({ name }) => name.startsWith("nccl"))) / sum(rows)) * 100;
      // By host calls, too: what is inside them counts once.
      assert.ok(Math.abs(share - expected) < 0.1, `${share} is not ${expected}`);
      assert.match(new URL(page.url()).hash, /^#flame&find=nccl/);
      await page.click('nav.views a[href="#report"]');
      // The address changes first, the view follows.
      await page.waitForSelector("h1.verdict", { state: "visible" });
      // Keys belong to the view that is in sight.
      await page.keyboard.press("i");
      assert.equal(new URL(page.url()).hash, "#report");
    });
  });

  test("gives a chart as PNG, from disk", async () => {
    await browser.visit(report, {}, async (page) => {
      const chart = page.locator('figure[data-figure="kernel_types"]');
      await live(page, chart);
      await chart.hover();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        chart.locator('.modebar-btn[data-title*="ownload"]').click(),
      ]);
      const bytes = readFileSync(await download.path());
      assert.equal(download.suggestedFilename(), "kernel_types.png");
      assert.equal(bytes.subarray(1, 4).toString(), "PNG");
      assert.ok(bytes.readUInt32BE(16) > 600);
    });
  });

  test("sorts, searches, unfolds and saves tables", async () => {
    await browser.visit(report, {}, async (page) => {
      const table = page.locator('#kernels table[data-name="kernels"]');
      const visible = table.locator("tbody tr:visible");
      assert.equal(await visible.count(), 10);
      const column = (name) =>
        table.evaluate((table, name) => {
          const place = [...table.tHead.rows[0].cells].findIndex((head) => head.dataset.name === name);
          return [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => Number(row.cells[place].dataset.value));
        }, name);
      await table.locator('th[data-name="count"] button').click();
      const counts = await column("count");
      assert.deepEqual(counts, [...counts].sort((a, b) => b - a));
      const most = Math.max(...answer.kernels.kernels.map(({ count }) => count));
      assert.equal(counts[0], most);
      await table.locator('th[data-name="count"] button').click();
      const up = await column("count");
      assert.deepEqual(up, [...up].sort((a, b) => a - b));

      const controls = page.locator('#kernels .controls:near(table[data-name="kernels"])').last();
      await controls.getByRole("button", { name: /^Show all/ }).click();
      assert.equal(await visible.count(), answer.kernels.kernels.length);
      await controls.getByRole("searchbox").fill("NCCL");
      const hits = answer.kernels.kernels.filter(({ name }) => name.toLowerCase().includes("nccl")).length;
      assert.ok((await visible.count()) >= hits && hits > 0);
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        controls.getByRole("button", { name: "CSV" }).click(),
      ]);
      const lines = readFileSync(await download.path(), "utf8").trim().split("\n");
      assert.equal(lines.length - 1, await visible.count());
      assert.ok(lines[0].includes("sum_ns"));
    });
  });

  test("leads from a finding to its evidence in the timeline, and back", async () => {
    await browser.visit(report, {}, async (page) => {
      assert.equal(await page.locator("a.evidence").count(), answer.findings.length);
      const link = page.locator("a.evidence").first();
      const wanted = new URLSearchParams((await link.getAttribute("href")).slice(1));
      await link.click();
      await page.waitForFunction(() => window.gpuscope?.state.marked);
      await drawn(page);
      const { from, to, marked, group, scrolled } = await page.evaluate(() => ({
        from: gpuscope.state.from,
        to: gpuscope.state.to,
        marked: gpuscope.state.marked,
        group: gpuscope.layout.placed.find(({ top }) => top >= gpuscope.scroller.scrollTop)?.group,
        scrolled: document.getElementById("view-report").hidden,
      }));
      assert.ok(scrolled);
      assert.deepEqual(marked.map(Math.round), wanted.get("mark").split("..").map(Number));
      assert.ok(from <= marked[0] && marked[1] <= to);
      assert.equal(group, wanted.get("group"));
      assert.match(await page.textContent("#details"), /On GPUs/);
      await page.goBack();
      await page.waitForFunction(() => !document.getElementById("view-report").hidden);
    });
  });

  test("opens in the view that the address names", async () => {
    await browser.visit(report, { address: "#timeline" }, async (page) => {
      await page.waitForFunction(() => window.gpuscope);
      assert.equal(await page.isVisible("#tracks"), true);
      await page.click('nav.views a[href="#report"]');
      // The address changes first, the view follows.
      await page.waitForSelector("h1.verdict", { state: "visible" });
    });
  });

  test("is dark where people want it dark, and readable", async () => {
    for (const dark of [false, true]) {
      await browser.visit(report, { dark }, async (page) => {
        const ratios = await page.evaluate(contrasts);
        for (const { text, ratio } of ratios) assert.ok(ratio >= 4.5, `${text}: ${ratio}`);
      });
    }
  });

  test("prints as paper: no controls, nothing hidden", async () => {
    await browser.visit(report, { address: "#timeline" }, async (page) => {
      await page.emulateMedia({ media: "print" });
      assert.equal(await page.isVisible("nav.views"), false);
      // The address changes first, the view follows.
      await page.waitForSelector("h1.verdict", { state: "visible" });
      assert.equal(await page.locator(".controls:visible").count(), 0);
      const pdf = await page.pdf({ format: "A4" });
      assert.ok(pdf.length > 20_000);
    });
  });
});

/** Contrast of texts with the page, in the page. */
function contrasts() {
  const parse = (color) => color.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) =>
    [r, g, b]
      .map((part) => part / 255)
      .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
      .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = light(parse(getComputedStyle(document.body).backgroundColor));
  return ["h1.verdict", ".soft", "a", "td.n", ".warning"].flatMap((chosen) => {
    const found = document.querySelector(chosen);
    if (!found) return [];
    const ink = light(parse(getComputedStyle(found).color));
    return [{ text: chosen, ratio: (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05) }];
  });
}
