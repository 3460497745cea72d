// `gpuscope view DIR` in a real browser: the timeline with a server behind it.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { duration, grouped } from "../lib/units.js";
import { Browser, covered, drawn, Folder, readTrace, view } from "./support.mjs";

const folder = new Folder();
/** @type {Browser} */
let browser;
let events;
let small;
let large;

before(async () => {
  browser = await Browser.start();
  const traces = folder.demo("small", { bytes: "3MB" });
  events = readTrace(join(traces, "rank-0.json"));
  small = await view(traces);
  large = await view(folder.demo("large", { ranks: 2, bytes: "54MB" }));
});

after(async () => {
  small?.stop();
  large?.stop();
  await browser?.close();
  folder.remove();
});

const visit = (address, run, options = {}) => browser.visit(small.address, { address, ...options }, run);

/** Lets the page draw and fetch until there is nothing finer to be had. */
async function settled(page) {
  await drawn(page);
  await page.waitForFunction(() => !gpuscope.source.waiting);
  await drawn(page);
  await page.waitForFunction(() => !gpuscope.source.waiting);
  await drawn(page);
}

async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
  await settled(page);
}

/** The cells of a track, all lanes together. */
const cells = (page, title) =>
  page.evaluate((title) => {
    const { lanes } = gpuscope.timeline.tracks.find((track) => track.title === title);
    return lanes.flatMap((lane) =>
      Array.from(lane.start, (start, i) => ({
        start,
        end: lane.end[i],
        busy: lane.before[i + 1] - lane.before[i],
        many: lane.many[i],
        name: gpuscope.timeline.names[lane.name[i]],
      })),
    );
  }, title);

const sum = (spans) => spans.reduce((sum, { start, end }) => sum + end - start, 0);
const onStream = (stream) => events.filter(({ sort, track }) => sort === "gpu" && track === stream);

describe("what is drawn", () => {
  test("from afar cells hold every slice and all of its time", () =>
    visit("", async (page) => {
      await settled(page);
      const shown = await cells(page, "stream 7");
      const kernels = onStream(7);
      assert.equal(shown.reduce((sum, { many }) => sum + many, 0), kernels.length);
      assert.equal(shown.reduce((sum, { busy }) => sum + busy, 0), sum(kernels));
    }));

  test("from near they are the slices themselves", () =>
    visit("#from=40000000&to=42000000", async (page) => {
      await settled(page);
      const inSight = ({ start, end }) => start < 42_000_000 && end > 40_000_000;
      const shown = (await cells(page, "stream 7")).filter(inSight);
      const kernels = onStream(7).filter(inSight).sort((a, b) => a.start - b.start);
      assert.ok(kernels.length > 3, `${kernels.length}`);
      assert.deepEqual(
        shown.map(({ name, start, end, many }) => ({ name, start, end, many })),
        kernels.map(({ name, start, end }) => ({ name, start, end, many: 1 })),
      );
    }));

  test("a large trace draws, and gets, no more than there are pixels", () =>
    browser.visit(large.address, { width: 420 }, async (page) => {
      assert.ok((await page.evaluate(() => gpuscope.timeline.slices)) > 200_000);
      for (const key of [..."wwwwwwwwwdddwwwwssssaassssssss", "f"]) {
        await press(page, key);
        const { rectangles, rows, most } = await page.evaluate(() => ({
          ...gpuscope.painter.drawn,
          most: Math.max(...gpuscope.timeline.tracks.flatMap(({ lanes }) => lanes.map(({ count }) => count))),
        }));
        assert.ok(rows > 0 && rectangles <= 4 * 220 * rows, `${rectangles} rectangles in ${rows} rows`);
        assert.ok(most <= 2 * 2 * 2048, `${most} cells in a lane`);
      }
    }));
});

describe("what is asked", () => {
  test("the statistics of a range are those of the file, to the nanosecond", () => {
    const [from, to] = [30_000_000, 95_000_000];
    return visit(`#from=${from}&to=${to}`, async (page) => {
      await press(page, "m");
      await page.waitForSelector("#details section");
      const shown = await page.$$eval("#details section", (sections) =>
        sections.map((section) => [...section.querySelectorAll("p span")].map((span) => span.title)),
      );
      const inside = events
        .filter(({ start, end, sort }) => sort === "gpu" && start < to && end > from)
        .map(({ start, end }) => ({ start: Math.max(start, from), end: Math.min(end, to) }));
      assert.deepEqual(shown[0], [sum(inside), covered(inside)].map((ns) => `${grouped(ns)} ns`));
    });
  });

  test("search finds all, n and N go from one to the next", () =>
    visit("", async (page) => {
      await page.keyboard.press("/");
      await page.keyboard.type("gemm");
      const hits = events.filter(({ name }) => /gemm/i.test(name)).sort((a, b) => a.start - b.start);
      const expected = `${grouped(hits.length)} found · ${duration(sum(hits))}`;
      await page.waitForFunction((text) => document.querySelector("#found").textContent === text, expected);
      const at = async (key, hit) => {
        await page.keyboard.press(key);
        await page.waitForFunction((start) => gpuscope.slice?.start === start, hit.start);
      };
      await at("Enter", hits[0]);
      await page.keyboard.press("Escape");
      await at("n", hits[1]);
      await at("n", hits[2]);
      await at("N", hits[1]);
      assert.equal(await page.textContent("#details h2"), hits[1].name);
    }));

  test("a click shows a kernel with its launch, and its address opens it elsewhere", () =>
    visit("", async (page) => {
      const kernel = events.find(({ name, sort }) => sort === "gpu" && name.includes("indexSelect"));
      const room = (kernel.end - kernel.start) * 3;
      await page.evaluate((hash) => (location.hash = hash), `#from=${kernel.start - room}&to=${kernel.end + room}`);
      await settled(page);
      const { x, y } = await page.evaluate((time) => {
        const { painter, layout, timeline, canvas } = gpuscope;
        const placed = layout.placed.find(({ track }) => timeline.tracks[track].title === "stream 7");
        const box = canvas.getBoundingClientRect();
        return { x: box.left + painter.x(time), y: box.top + 26 + placed.top + 8 };
      }, (kernel.start + kernel.end) / 2);
      await page.mouse.click(x, y);
      await page.waitForSelector("#details li button");
      assert.equal(await page.textContent("#details h2"), kernel.name);
      assert.equal(await page.locator("#details li button").first().textContent(), "cudaLaunchKernel");
      await page.waitForFunction(() => location.hash.includes("slice="));
      await visit(await page.evaluate(() => location.hash), async (other) => {
        await other.waitForSelector("#details h2");
        assert.equal(await other.textContent("#details h2"), kernel.name);
      });
    }));
});

test("a page that nobody touches asks for nothing, not even at the edge, and its address follows", () =>
  visit("", async (page) => {
    await settled(page);
    await press(page, ..."wwww", ..."a".repeat(30));
    const { from } = await page.evaluate(() => gpuscope.state);
    assert.ok(from < 0, `${from}`);
    let requests = 0;
    page.on("request", () => requests++);
    await page.waitForTimeout(600);
    assert.equal(requests, 0);
    assert.match(new URL(page.url()).hash, new RegExp(`from=${Math.round(from)}&`));
  }));

test("once the server is gone the page says so", async () => {
  const server = await view(join(folder.path, "small"));
  const context = await browser.browser.newContext();
  const page = await context.newPage();
  await page.goto(server.address);
  await page.waitForFunction(() => document.documentElement.dataset.ready === "true");
  server.stop();
  await page.waitForTimeout(200);
  await page.keyboard.press("m");
  await page.waitForSelector("#details .error");
  await context.close();
});
