// The pages of single commands and of single charts in a real browser.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { Browser, Folder, gpuscope } from "./support.mjs";

const folder = new Folder();
/** @type {Browser} */
let browser;
let traces;

before(async () => {
  browser = await Browser.start();
  traces = folder.demo("job", { ranks: 2, bytes: "1MB" });
});

after(async () => {
  await browser?.close();
  folder.remove();
});

/** Brings every chart into sight that can be seen, and says what plotly drew. */
async function drawnCharts(page) {
  const charts = page.locator("figure[data-figure]:visible");
  const drawn = [];
  for (let i = 0; i < (await charts.count()); i++) {
    const chart = charts.nth(i);
    await chart.evaluate((chart) => chart.scrollIntoView({ block: "center" }));
    await page.waitForFunction((chart) => chart.dataset.live === "true", await chart.elementHandle());
    drawn.push(
      await chart.evaluate((chart) => ({
        name: chart.dataset.figure,
        marks: chart.querySelectorAll(".point, .slice, .heatmaplayer image, .js-line, .box, .js-fill").length,
      })),
    );
  }
  return drawn;
}

/** Commands, and how many charts each has at least. */
const COMMANDS = {
  info: 0,
  breakdown: 2,
  temporal: 1,
  kernels: 3,
  overlap: 1,
  idle: 1,
  launches: 0,
  queue: 1,
  bandwidth: 1,
  layers: 1,
  ops: 1,
  memory: 1,
  collectives: 2,
  stragglers: 0,
  "critical-path": 1,
  phases: 0,
  patterns: 0,
  check: 0,
  hta: 0,
};

describe("the page of a command", () => {
  for (const [command, charts] of Object.entries(COMMANDS)) {
    test(`${command} holds its tables and its charts`, async () => {
      const file = folder.file(`${command}.html`);
      gpuscope(command, traces, "-o", file);
      const tables = JSON.parse(gpuscope(command, traces, "--json"));
      assert.equal(tables.command, command);
      await browser.visit(file, {}, async (page) => {
        assert.match(await page.textContent("h1"), new RegExp(`gpuscope ${command}`));
        assert.ok((await page.locator("table[data-name]").count()) >= 1);
        const drawn = await drawnCharts(page);
        assert.ok(drawn.length >= charts, `${drawn.length} charts`);
        for (const { name, marks } of drawn) assert.ok(marks > 0, `${name} is empty`);
      });
    });
  }

  test("diff holds what changed", async () => {
    const file = folder.file("diff.html");
    gpuscope("diff", `${traces}/rank-0.json`, `${traces}/rank-1.json`, "-o", file);
    await browser.visit(file, {}, async (page) => {
      const drawn = await drawnCharts(page);
      assert.ok(drawn.some(({ name, marks }) => name === "diff" && marks > 0));
    });
  });
});

describe("the page of a chart", () => {
  test("every chart that is listed can be looked into", async () => {
    const listed = gpuscope("plot", "--list").split("\n").map((line) => /^([a-z_]+) {2}/.exec(line)?.[1]).filter(Boolean);
    assert.ok(listed.length >= 20, listed.join(" "));
    const absent = [];
    for (const name of listed.filter((name) => !name.startsWith("diff"))) {
      const file = folder.file("chart.html");
      try {
        gpuscope("plot", name, traces, "-o", file);
      } catch (error) {
        // What the demo does not have, the command says.
        assert.match(String(error.stderr), /there is nothing to draw/, name);
        absent.push(name);
        continue;
      }
      await browser.visit(file, {}, async (page) => {
        const drawn = await drawnCharts(page);
        assert.ok(drawn.length > 0 && drawn.every(({ marks }) => marks > 0), `${name}: ${JSON.stringify(drawn)}`);
      });
    }
    assert.deepEqual(absent, ["all_to_all_v"]);
  });
});
