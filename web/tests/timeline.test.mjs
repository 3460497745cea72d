// `gpuscope timeline DIR -o x.html` in a real browser.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { duration, grouped } from "../lib/units.js";
import { Browser, covered, drawn, Folder, gpuscope, readTrace } from "./support.mjs";

const folder = new Folder();
/** @type {Browser} */
let browser;
let events;
const small = folder.file("small.html");
const large = folder.file("large.html");

before(async () => {
  browser = await Browser.start();
  const traces = folder.demo("small", { bytes: "3MB" });
  events = readTrace(join(traces, "rank-0.json"));
  gpuscope("timeline", traces, "-o", small);
  gpuscope("timeline", folder.demo("large", { ranks: 2, bytes: "54MB" }), "-o", large);
});

after(async () => {
  await browser?.close();
  folder.remove();
});

const visit = (address, run, options = {}) => browser.visit(small, { address, ...options }, run);

/** What is in sight. */
const sight = (page) => page.evaluate(() => ({ from: gpuscope.state.from, to: gpuscope.state.to }));
const state = (page) =>
  page.evaluate(() => {
    const { from, to, selected, query, marked, scroll } = gpuscope.state;
    return { from: Math.round(from), to: Math.round(to), selected, query, marked, scroll };
  });

async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
  await drawn(page);
}

/** Where a slice is on the screen. */
const placeOf = (page, title, time) =>
  page.evaluate(
    ([title, time]) => {
      const { painter, layout, timeline, canvas, state } = gpuscope;
      const placed = layout.placed.find(({ track }) => timeline.tracks[track].title === title);
      const box = canvas.getBoundingClientRect();
      return { x: box.left + painter.x(time), y: box.top + 26 + placed.top - state.scroll + 8 };
    },
    [title, time],
  );

/** The colour of a pixel of the canvas, by where it is on the screen. */
const colorAt = (page, { x, y }) =>
  page.evaluate(
    ([x, y]) => {
      const box = gpuscope.canvas.getBoundingClientRect();
      const pixel = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
      pixel.drawImage(gpuscope.canvas, Math.round(box.left - x), Math.round(box.top - y));
      return [...pixel.getImageData(0, 0, 1, 1).data.slice(0, 3)];
    },
    [x, y],
  );

describe("what is drawn", () => {
  test("tracks and slices are those of the file", () =>
    visit("", async (page) => {
      const tracks = await page.evaluate(() =>
        gpuscope.timeline.tracks.map(({ title, sort, lanes }) => ({
          title,
          sort,
          slices: lanes.reduce((sum, lane) => sum + lane.count, 0),
          ns: lanes.reduce((sum, lane) => sum + lane.end.reduce((sum, end, i) => sum + end - lane.start[i], 0), 0),
        })),
      );
      for (const sort of ["gpu", "host"]) {
        const expected = new Map();
        for (const { track, start, end } of events.filter((event) => event.sort === sort)) {
          const sum = expected.get(track) ?? { slices: 0, ns: 0 };
          expected.set(track, { slices: sum.slices + 1, ns: sum.ns + end - start });
        }
        const shown = tracks.filter((track) => track.sort === sort);
        assert.equal(shown.length, expected.size);
        for (const { title, slices, ns } of shown) {
          assert.deepEqual({ slices, ns }, expected.get(Number(/\d+/.exec(title)?.[0])), title);
        }
      }
      assert.equal(tracks.filter(({ sort }) => sort === "steps").length, 1);
      for (const counter of ["queue, stream 7", "allocated, cuda:0", "bandwidth, Memcpy HtoD"]) {
        assert.ok(tracks.some(({ title, sort }) => sort === "counter" && title === counter), counter);
      }
    }));

  test("a kernel has the colour of its kind, and what is empty that of the page", () =>
    visit("", async (page) => {
      const kernels = events.filter(({ sort, track }) => sort === "gpu" && track === 7);
      const { start, end } = kernels.reduce((a, b) => (b.end - b.start > a.end - a.start ? b : a));
      await page.evaluate((address) => (location.hash = address), `#from=${start}&to=${end}`);
      await drawn(page);
      const late = end - (end - start) / 50;
      const right = await placeOf(page, "stream 7", late);
      assert.deepEqual(await colorAt(page, right), [0x00, 0x72, 0xb2]);
      const below = await placeOf(page, "stream 24", late);
      assert.deepEqual(await colorAt(page, below), [255, 255, 255]);
    }));

  test("a counter that was up for less than a pixel is down again beside it", () =>
    visit("", async (page) => {
      const copies = events.filter(({ name }) => name.startsWith("Memcpy HtoD"));
      const between = (copies[0].end + copies[1].start) / 2;
      const { x, y } = await placeOf(page, "bandwidth, Memcpy HtoD", between);
      assert.deepEqual(await colorAt(page, { x, y: y + 20 }), [255, 255, 255]);
      const up = await placeOf(page, "bandwidth, Memcpy HtoD", copies[1].start);
      const near = await Promise.all([-1, 0, 1].map((by) => colorAt(page, { x: up.x + by, y: y + 20 })));
      assert.ok(near.some(([red]) => red < 250), JSON.stringify(near));
    }));

  test("a large trace draws no more than there are pixels", () =>
    browser.visit(large, { width: 420 }, async (page) => {
      const slices = await page.evaluate(() => gpuscope.timeline.slices);
      assert.ok(slices > 200_000, `${slices} slices`);
      let most = 0;
      for (const key of [..."wwwwwwwwwwddddwwwwwwssssaaaassssssssssss", "f"]) {
        await press(page, key);
        const { rectangles, rows, width } = await page.evaluate(() => ({
          ...gpuscope.painter.drawn,
          width: gpuscope.state.width,
        }));
        assert.ok(rows > 0 && rectangles > 0);
        const allowed = 4 * (width - 200) * rows;
        assert.ok(rectangles <= allowed, `${rectangles} rectangles in ${rows} rows of ${width} pixels`);
        most = Math.max(most, rectangles);
      }
      assert.ok(most > 500, `only ${most} rectangles were ever drawn`);
    }));
});

describe("moving about", () => {
  test("W and S zoom around the middle, A and D pan, F shows everything", () =>
    visit("", async (page) => {
      const all = await sight(page);
      await press(page, "w");
      const near = await sight(page);
      assert.ok(Math.abs((near.to - near.from) / (all.to - all.from) - 0.7) < 1e-6);
      assert.ok(Math.abs(near.to + near.from - (all.to + all.from)) < 2);
      await press(page, "d");
      const right = await sight(page);
      assert.ok(Math.abs((right.from - near.from) / (near.to - near.from) - 0.15) < 1e-6);
      await press(page, "a");
      assert.ok(Math.abs((await sight(page)).from - near.from) < 1);
      await press(page, "s");
      assert.ok((await sight(page)).to - (await sight(page)).from > near.to - near.from);
      await press(page, "w", "w", "w", "f");
      assert.deepEqual(await sight(page), all);
    }));

  test("the wheel zooms around the pointer with Ctrl, pans with Shift, and scrolls alone", () =>
    visit("", async (page) => {
      const time = (x) => page.evaluate((x) => gpuscope.time(x), x);
      await page.mouse.move(900, 300);
      const under = await time(900);
      const all = await sight(page);
      await page.keyboard.down("Control");
      await page.mouse.wheel(0, -200);
      await page.keyboard.up("Control");
      await page.waitForFunction((length) => gpuscope.state.to - gpuscope.state.from < length, all.to - all.from);
      const pixel = (await time(901)) - (await time(900));
      assert.ok(Math.abs((await time(900)) - under) < pixel, "what is under the pointer stays there");
      const near = await sight(page);
      await page.keyboard.down("Shift");
      await page.mouse.wheel(0, 100);
      await page.keyboard.up("Shift");
      await page.waitForFunction((from) => gpuscope.state.from > from, near.from);
      const beside = await sight(page);
      await page.mouse.wheel(0, 60);
      await page.waitForFunction(() => gpuscope.state.scroll > 0);
      assert.deepEqual(await sight(page), beside);
    }, { height: 500 }));

  test("dragging takes the timeline along", () =>
    visit("#from=50000000&to=90000000", async (page) => {
      const under = await page.evaluate(() => gpuscope.time(800));
      await page.mouse.move(800, 300);
      await page.mouse.down();
      await page.mouse.move(600, 300, { steps: 5 });
      await page.mouse.up();
      await drawn(page);
      const pixel = await page.evaluate(() => gpuscope.time(1) - gpuscope.time(0));
      assert.ok(Math.abs((await page.evaluate(() => gpuscope.time(600))) - under) < pixel);
      assert.equal((await state(page)).selected, -1, "a drag is no click");
    }));

  test("a click in the minimap goes there", () =>
    visit("#from=0&to=10000000", async (page) => {
      const { x, y, width } = await page.locator("#minimap").boundingBox();
      await page.mouse.click(x + 200 + (width - 200) / 2, y + 10);
      await drawn(page);
      const { from, to } = await sight(page);
      const length = await page.evaluate(() => gpuscope.state.length);
      assert.ok(Math.abs((from + to) / 2 - length / 2) < length / 500);
    }));

  test("a click on a heading folds the rank, and another opens it", () =>
    visit("", async (page) => {
      const rows = () => page.evaluate(() => gpuscope.painter.drawn.rows);
      const all = await rows();
      const { x, y } = await page.locator("#tracks").boundingBox();
      await page.mouse.click(x + 30, y + 26 + 10);
      await drawn(page);
      assert.equal(await rows(), 0);
      await page.mouse.click(x + 30, y + 26 + 10);
      await drawn(page);
      assert.equal(await rows(), all);
    }));
});

describe("search", () => {
  test("hits and their time are those of the file; n and N go from one to the next", () =>
    visit("", async (page) => {
      await press(page, "/");
      await page.keyboard.type("GEMM");
      const hits = events.filter(({ name }) => /gemm/i.test(name)).sort((a, b) => a.start - b.start);
      const total = hits.reduce((sum, { start, end }) => sum + end - start, 0);
      assert.equal(await page.textContent("#found"), `${grouped(hits.length)} found · ${duration(total)}`);
      await page.keyboard.press("Enter");
      await page.keyboard.press("Escape");
      const selected = () =>
        page.evaluate(() => {
          const { tracks, names } = gpuscope.timeline;
          for (const { lanes } of tracks) {
            for (const lane of lanes) {
              const i = gpuscope.state.selected - lane.first;
              if (i < 0 || i >= lane.count) continue;
              return { name: names[lane.name[i]], start: lane.start[i], end: lane.end[i] };
            }
          }
        });
      const hit = ({ name, start, end }) => ({ name, start, end });
      assert.deepEqual(await selected(), hit(hits[0]));
      await press(page, "n");
      assert.deepEqual(await selected(), hit(hits[1]));
      await press(page, "n", "n", "N");
      assert.deepEqual(await selected(), hit(hits[2]));
      const { from, to } = await sight(page);
      assert.ok(from < hits[2].start && to > hits[2].end);
    }));

  test("a step is found once, though it is drawn twice", () =>
    visit("#find=ProfilerStep", async (page) => {
      const steps = events.filter(({ name }) => name.startsWith("ProfilerStep")).length;
      assert.ok((await page.textContent("#found"))?.startsWith(`${steps} found`));
    }));
});

describe("selection", () => {
  test("the statistics of a range are those of the file, to the nanosecond", () => {
    const [from, to] = [30_000_000, 95_000_000];
    return visit(`#from=${from}&to=${to}`, async (page) => {
      await press(page, "m");
      const shown = await page.$$eval("#details section", (sections) =>
        sections.map((section) => ({
          text: section.querySelector("p")?.textContent ?? "",
          exact: [...section.querySelectorAll("p span")].map((span) => span.title),
          top: [...section.querySelectorAll("tr")].map((row) => [
            row.children[0].textContent,
            row.children[1].textContent,
            row.querySelector("span")?.title,
          ]),
        })),
      );
      ["gpu", "host"].forEach((sort, i) => {
        const inside = events
          .filter((event) => event.sort === sort && event.start < to && event.end > from)
          .map((event) => ({ ...event, start: Math.max(event.start, from), end: Math.min(event.end, to) }));
        const sum = (spans) => spans.reduce((sum, { start, end }) => sum + end - start, 0);
        // On the host what is inside another event of its thread is in that one's time.
        const outermost = inside.filter(
          (event) =>
            sort === "gpu" ||
            !inside.some(
              (other) =>
                other !== event && other.track === event.track && other.start <= event.start && other.end >= event.end,
            ),
        );
        const threads = [...new Set(inside.map(({ track }) => track))];
        const alone = threads.map((thread) => covered(inside.filter(({ track }) => track === thread)));
        const total = sort === "gpu" ? sum(inside) : alone.reduce((a, b) => a + b, 0);
        assert.ok(outermost.length > 0 && shown[i].text.startsWith(`${grouped(inside.length)} events`), shown[i].text);
        assert.deepEqual(shown[i].exact, [total, covered(inside)].map((ns) => `${grouped(ns)} ns`), sort);
        const names = new Map();
        for (const event of inside) names.set(event.name, [...(names.get(event.name) ?? []), event]);
        const top = [...names].sort((a, b) => sum(b[1]) - sum(a[1])).slice(0, 5);
        const expected = top.map(([name, spans]) => [name, grouped(spans.length), `${grouped(sum(spans))} ns`]);
        assert.deepEqual(shown[i].top, expected);
      });
    });
  });

  test("dragging along the axis marks a range", () =>
    visit("", async (page) => {
      const { x, y } = await page.locator("#tracks").boundingBox();
      await page.mouse.move(x + 400, y + 10);
      await page.mouse.down();
      await page.mouse.move(x + 700, y + 10, { steps: 4 });
      await page.mouse.up();
      const [from, to] = await page.evaluate(() => [gpuscope.time(400), gpuscope.time(700)]);
      assert.deepEqual((await state(page)).marked, [from, to]);
      assert.match(await page.textContent("#details h2"), /from .* to /);
      await press(page, "Escape");
      assert.equal((await state(page)).marked, null);
      assert.equal(await page.textContent("#details"), "");
    }));

  test("a click shows a kernel with its launch and the operators around that", () =>
    visit("", async (page) => {
      const kernel = events.find(({ name, sort }) => sort === "gpu" && name.includes("indexSelect"));
      const room = (kernel.end - kernel.start) * 3;
      await page.evaluate((hash) => (location.hash = hash), `#from=${kernel.start - room}&to=${kernel.end + room}`);
      await drawn(page);
      const { x, y } = await placeOf(page, `stream ${kernel.track}`, (kernel.start + kernel.end) / 2);
      await page.mouse.click(x, y);
      await drawn(page);
      assert.equal(await page.textContent("#details h2"), kernel.name);
      assert.equal(await page.getAttribute("#details p span", "title"), `${grouped(kernel.end - kernel.start)} ns`);
      const calls = events.filter(({ name, sort }) => sort === "host" && name.startsWith("cuda"));
      const call = calls.find(({ args }) => args.correlation === kernel.args.correlation);
      const link = page.locator("#details li button").first();
      assert.equal(await link.textContent(), call.name);
      await link.click();
      await drawn(page);
      assert.equal(await page.textContent("#details h2"), call.name);
      const around = events
        .filter(({ sort, track }) => sort === "host" && track === call.track)
        .filter((event) => event !== call && event.start <= call.start && event.end >= call.end)
        .sort((a, b) => a.start - b.start || b.end - a.end);
      const listed = await page.$$eval("#details li button", (buttons) => buttons.map((button) => button.textContent));
      assert.deepEqual(listed, [kernel.name, ...around.map(({ name }) => name)].slice(0, listed.length));
      assert.ok(around.length > 3 && listed.length > 3, `${listed.length} of ${around.length}: ${listed}`);
    }));
});

describe("the page", () => {
  test("its address opens the same view elsewhere", () =>
    visit("", async (page) => {
      await press(page, "w", "w", "w", "d");
      await press(page, "/");
      await page.keyboard.type("gemm");
      await page.keyboard.press("Enter");
      await page.keyboard.press("Escape");
      await press(page, "s", "s");
      await page.waitForFunction(() => /slice=\d/.test(location.hash) && location.hash.includes("find=gemm"));
      await page.waitForTimeout(300);
      const hash = await page.evaluate(() => location.hash);
      const [here, picture] = [await state(page), await screenshot(page)];
      await visit(hash, async (other) => {
        await drawn(other);
        assert.deepEqual(await state(other), here);
        assert.equal(await other.inputValue("#find"), "gemm");
        assert.ok(picture.equals(await screenshot(other)), "the same picture");
      });
      await press(page, "Escape", "f", "w", "m");
      await page.waitForFunction(() => location.hash.includes("mark="));
      const marked = await page.textContent("#details");
      await visit(await page.evaluate(() => location.hash), async (other) => {
        assert.equal(await other.textContent("#details"), marked);
      });
    }));

  test("an address that makes no sense shows everything", () =>
    visit("#from=x&to=-7&slice=99999999&mark=1..y&y=-3", async (page) => {
      assert.equal((await state(page)).marked, null);
      assert.ok((await sight(page)).to > (await sight(page)).from);
    }));

  test("an address with a range the wrong way round, or a slice that is none, makes sense of it", () =>
    visit("#from=0&to=100000000&mark=60000000..20000000", async (page) => {
      await page.waitForSelector("#details section");
      assert.match(await page.textContent("#details h2"), /^40\.00 ms from 20\.00 ms to 60\.00 ms/);
      await page.evaluate(() => (location.hash = "#slice=1.5"));
      await drawn(page);
      assert.doesNotMatch(await page.textContent("#details"), /NaN|undefined/);
      await page.evaluate(() => (location.hash = "#from=0&to=1000"));
      await drawn(page);
      assert.equal(await page.textContent("#details"), "");
    }));

  test("? shows the keys; ? again or Escape hides them", () =>
    visit("", async (page) => {
      await press(page, "?");
      assert.ok(await page.locator("#keys").isVisible());
      await press(page, "w", "?");
      assert.ok(!(await page.locator("#keys").isVisible()));
      await press(page, "?", "Escape");
      assert.ok(!(await page.locator("#keys").isVisible()));
    }));

  test("it follows the theme of the system", () =>
    visit(
      "",
      async (page) => {
        const empty = { x: 700, y: 780 };
        assert.deepEqual(await colorAt(page, empty), [0x0d, 0x11, 0x17]);
        const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        assert.equal(await background(), "rgb(13, 17, 23)");
        await page.emulateMedia({ colorScheme: "light" });
        await drawn(page);
        assert.deepEqual(await colorAt(page, empty), [255, 255, 255]);
        assert.equal(await background(), "rgb(255, 255, 255)");
      },
      { dark: true, height: 1200 },
    ));
});

const screenshot = (page) => page.locator("#tracks").screenshot();
