// `gpuscope flame DIR -o x.html` in a real browser.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { duration } from "../lib/units.js";
import { Browser, drawn, Folder, gpuscope, readTrace } from "./support.mjs";

const folder = new Folder();
/** @type {Browser} */
let browser;
let events;
let kernels;
const page = folder.file("flame.html");
const diff = folder.file("diff.html");
const hostile = folder.file("hostile.html");
const SLOW = /("cat": "kernel", "name": "[^"]*elementwise[^"]*"[^}]*?"dur": )([\d.]+)/g;
const HOSTILE = `</script><script>throw new Error("out")</script><img src=x onerror="alert(1)">`;

before(async () => {
  browser = await Browser.start();
  const traces = folder.demo("a", { bytes: "3MB" });
  const file = join(traces, "rank-0.json");
  events = readTrace(file);
  kernels = events.filter(({ sort }) => sort === "gpu");
  gpuscope("flame", traces, "--small-kernels-us", 0, "-o", page);
  // Another run in which one sort of kernel takes twice as long, and one in which names are not kind.
  const slower = folder.file("slower.json");
  const text = readFileSync(file, "utf8");
  writeFileSync(slower, text.replace(SLOW, (_, head, dur) => head + (2 * Number(dur)).toFixed(3)));
  gpuscope("flame", slower, "--against", traces, "--stacks", "operators", "-o", diff);
  const nasty = folder.file("nasty.json");
  writeFileSync(nasty, text.replaceAll('"aten::to"', JSON.stringify(HOSTILE)));
  gpuscope("flame", nasty, "--by", "host", "-o", hostile);
});

after(async () => {
  await browser?.close();
  folder.remove();
});

const visit = (address, run, options = {}) => browser.visit(page, { address, ...options }, run);
const sum = (spans) => spans.reduce((sum, { start, end }) => sum + end - start, 0);

async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
  await drawn(page);
}

/** The boxes on the screen with their names. */
const boxes = (page) =>
  page.evaluate(() =>
    gpuscope.boxes.map((box) => ({ ...box, name: gpuscope.name(box.node), total: gpuscope.tree.total[box.node] })),
  );

/** Where a box is on the screen. */
const middle = (page, node) =>
  page.evaluate((node) => {
    const box = gpuscope.boxes.find((box) => box.node === node);
    const area = gpuscope.canvas.getBoundingClientRect();
    return { x: area.left + (box.left + box.width / 2) * area.width, y: area.top + gpuscope.y(box.row) + 10 };
  }, node);

describe("what is drawn", () => {
  test("leaves are the kernels of the file, and add up to all GPU time", () =>
    visit("", async (page) => {
      const { whole, leaves } = await page.evaluate(() => {
        const { tree } = gpuscope;
        const leaves = new Map();
        tree.own.forEach((own, i) => {
          if (own) leaves.set(gpuscope.name(i), (leaves.get(gpuscope.name(i)) ?? 0) + own);
        });
        return { whole: tree.total[0], leaves: [...leaves] };
      });
      assert.equal(whole, sum(kernels));
      const expected = new Map();
      for (const { name, start, end } of kernels) expected.set(name, (expected.get(name) ?? 0) + end - start);
      assert.deepEqual(new Map(leaves), expected);
    }));

  test("a box is as wide as it is heavy, and within the one above", () =>
    visit("", async (page) => {
      const shown = await boxes(page);
      const whole = shown[0].total;
      for (const box of shown) assert.ok(Math.abs(box.width - box.total / whole) < 1e-9, box.name);
      const end = ({ left, width }) => left + width;
      for (const box of shown.slice(1)) {
        const above = shown.filter(({ row }) => row === box.row - 1);
        const around = above.find((other) => other.left <= box.left + 1e-9 && end(other) >= end(box) - 1e-9);
        assert.ok(around, box.name);
      }
      assert.ok(Math.max(...shown.map(({ row }) => row)) > 6);
    }));

  test("heaviest first, or in order of time", () =>
    visit("", async (page) => {
      const inRow = async () => {
        const shown = (await boxes(page)).filter(({ width }) => width > 0.01);
        const rows = new Map();
        for (const box of shown) rows.set(box.row, [...(rows.get(box.row) ?? []), box]);
        return [...rows.values()].map((row) => row.sort((a, b) => a.left - b.left));
      };
      const heavy = await inRow();
      const branching = heavy.findIndex((row) => row.length > 1);
      assert.ok(branching >= 0);
      await press(page, "o");
      assert.equal(await page.textContent("#flame-order"), "In order of time");
      const timed = await inRow();
      const names = (row) => row.map(({ name }) => name);
      assert.deepEqual(names(timed[branching]).sort(), names(heavy[branching]).sort());
      assert.ok(heavy.some((row, i) => names(row).join() !== names(timed[i]).join()), "some order differs");
    }));

  test("icicles grow down and flames up", () =>
    visit("", async (page) => {
      const root = () => page.evaluate(() => gpuscope.y(0));
      assert.equal(await root(), 0);
      await press(page, "i");
      assert.ok((await root()) > 100);
      assert.equal(await page.textContent("#flame-direction"), "Flame");
    }));
});

describe("moving about", () => {
  test("a click zooms, breadcrumbs lead back, Reset shows everything", () =>
    visit("", async (page) => {
      const heavy = (await boxes(page)).filter(({ row, width }) => row === 4 && width > 0.05)[0];
      const { x, y } = await middle(page, heavy.node);
      await page.mouse.move(x, y);
      assert.ok((await page.textContent("#flame-said")).startsWith(`${heavy.name} · ${duration(heavy.total)} · `));
      await page.mouse.click(x, y);
      await drawn(page);
      const zoomed = (await boxes(page)).find(({ node }) => node === heavy.node);
      assert.equal(zoomed.width, 1);
      const crumbs = await page.$$eval("#flame-crumbs button", (buttons) => buttons.map((button) => button.textContent));
      assert.equal(crumbs.length, 5);
      assert.equal(crumbs[0], "all GPU work");
      await page.locator("#flame-crumbs button").nth(1).click();
      await drawn(page);
      assert.equal(await page.locator("#flame-crumbs button").count(), 2);
      await page.click("#flame-reset");
      await drawn(page);
      assert.equal(await page.locator("#flame-crumbs button").count(), 1);
    }));

  test("keys go from box to box", () =>
    visit("", async (page) => {
      const chosen = () => page.evaluate(() => gpuscope.chosen);
      await press(page, "ArrowDown", "ArrowDown", "ArrowDown");
      const third = await chosen();
      assert.equal(await page.evaluate((node) => gpuscope.tree.depth[node], third), 3);
      await press(page, "Enter");
      assert.equal((await boxes(page)).find(({ node }) => node === third).width, 1);
      await press(page, "Backspace");
      assert.equal(await page.locator("#flame-crumbs button").count(), 3);
      await press(page, "Escape", "ArrowDown", "ArrowUp");
      assert.equal(await chosen(), 0);
      await press(page, "?");
      assert.ok(await page.locator("#flame-keys").isVisible());
      await press(page, "Escape");
      assert.ok(!(await page.locator("#flame-keys").isVisible()));
    }));

  test("the address holds zoom, search, order and direction", () =>
    visit("", async (page) => {
      await press(page, "ArrowDown", "ArrowDown", "Enter", "o", "i", "/");
      await page.keyboard.type("gemm");
      await drawn(page);
      const [hash, shown] = [await page.evaluate(() => location.hash), await boxes(page)];
      await visit(hash, async (other) => {
        await drawn(other);
        assert.deepEqual(await boxes(other), shown);
        assert.equal(await other.inputValue("#flame-find"), "gemm");
        assert.equal(await other.textContent("#flame-direction"), "Flame");
      });
    }));
});

test("what is zoomed to and what keys go to is in sight", () =>
  visit("", async (page) => {
    const deepest = await page.evaluate(() => {
      const { boxes } = gpuscope;
      return boxes.reduce((deep, box) => (box.row > deep.row ? box : deep)).node;
    });
    const inSight = () =>
      page.evaluate((node) => {
        const y = gpuscope.y(gpuscope.boxes.find((box) => box.node === node).row);
        return y >= 0 && y < gpuscope.scroller.clientHeight;
      }, deepest);
    await page.evaluate((node) => gpuscope.zoom(node), deepest);
    await drawn(page);
    assert.ok(await inSight());
    await press(page, "i");
    assert.ok(await inSight());
    await page.evaluate(() => gpuscope.reset());
    for (let i = 0; i < 30; i++) await page.keyboard.press("ArrowUp");
    await drawn(page);
    const chosen = await page.evaluate(() => gpuscope.y(gpuscope.boxes.find((box) => box.node === gpuscope.chosen).row));
    const height = await page.evaluate(() => gpuscope.scroller.clientHeight);
    assert.ok(chosen >= 0 && chosen < height, `${chosen} of ${height}`);
  }, { height: 300 }));

describe("search", () => {
  test("hits are said with their share of all", () =>
    visit("", async (page) => {
      await press(page, "/");
      await page.keyboard.type("GEMM");
      await drawn(page);
      const hits = sum(kernels.filter(({ name }) => /gemm/i.test(name)));
      const found = await page.textContent("#flame-found");
      const share = ((hits / sum(kernels)) * 100).toFixed(1);
      assert.ok(found.endsWith(` found · ${duration(hits)} · ${share} %`), found);
    }));

  test("what is inside another hit counts once", () =>
    visit("#flame&find=train.py", async (page) => {
      const share = Number(/([\d.]+) %/.exec(await page.textContent("#flame-found"))[1]);
      assert.ok(share > 0 && share <= 100, String(share));
    }));
});

describe("two runs", () => {
  test("what became heavier is orange, what stayed is grey, and both are said", () =>
    browser.visit(diff, {}, async (page) => {
      const shown = await page.evaluate(() =>
        gpuscope.boxes.map(({ node }) => ({
          name: gpuscope.name(node),
          kind: gpuscope.tree.kinds[gpuscope.tree.kind[node]],
          color: gpuscope.color(node),
          now: gpuscope.tree.total[node],
          before: gpuscope.tree.before[node],
          said: gpuscope.say(node),
        })),
      );
      const slow = shown.filter(({ name, kind }) => kind === "compute" && name.includes("elementwise"));
      assert.ok(slow.length > 0);
      for (const box of slow) {
        assert.equal(box.now, 2 * box.before);
        const [red, , blue] = [1, 3, 5].map((at) => parseInt(box.color.slice(at, at + 2), 16));
        assert.ok(red > blue, box.color);
        assert.ok(box.said.endsWith(`${duration(box.before)} before`), box.said);
      }
      const same = shown.filter(({ name, kind }) => kind === "compute" && !/elementwise|small/.test(name));
      assert.ok(same.length > 0 && same.every(({ color }) => color === "#B8BEC8"));
      assert.equal(shown[0].before, sum(kernels));
      await page.click("#flame-widths");
      await drawn(page);
      assert.equal(await page.evaluate(() => gpuscope.weight[0]), sum(kernels));
    }));
});

describe("the page", () => {
  test("names are text, whatever they hold", () =>
    browser.visit(hostile, { address: "#flame&find=onerror" }, async (page) => {
      const count = events.filter(({ name }) => name === "aten::to").length;
      assert.ok(count > 0);
      assert.ok(!(await page.textContent("#flame-found")).startsWith("0 found"));
      const hit = await page.evaluate(() => [...gpuscope.hits.nodes][0]);
      await page.evaluate((node) => gpuscope.zoom(node), hit);
      await drawn(page);
      assert.ok((await page.textContent("#flame-said")).startsWith(HOSTILE));
      assert.equal(await page.locator("img").count(), 0);
    }));

  test("it follows the theme of the system", () =>
    visit(
      "",
      async (page) => {
        const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        assert.equal(await background(), "rgb(13, 17, 23)");
        await page.emulateMedia({ colorScheme: "light" });
        assert.equal(await background(), "rgb(255, 255, 255)");
      },
      { dark: true },
    ));

  test("every format says the same", () => {
    const traces = folder.file("a");
    const collapsed = folder.file("x.collapsed");
    gpuscope("flame", traces, "-o", collapsed);
    const lines = readFileSync(collapsed, "utf8").trim().split("\n");
    assert.equal(lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0), sum(kernels));
    const speedscope = folder.file("x.speedscope.json");
    gpuscope("flame", traces, "-o", speedscope);
    assert.equal(JSON.parse(readFileSync(speedscope, "utf8")).profiles[0].endValue, sum(kernels));
    const { data } = JSON.parse(gpuscope("flame", traces, "--json"));
    assert.equal(data.total_ns, sum(kernels));
  });

  test("the picture holds every box that can be seen", async () => {
    const file = folder.file("x.svg");
    gpuscope("flame", folder.file("a"), "--small-kernels-us", 0, "-o", file);
    const context = await browser.browser.newContext();
    const shown = await context.newPage();
    await shown.goto(`file://${file}`);
    const titles = await shown.$$eval("g > title", (titles) => titles.map((title) => title.textContent));
    const longest = new Map();
    for (const { name, start, end } of kernels) longest.set(name, (longest.get(name) ?? 0) + end - start);
    const [name] = [...longest].sort((a, b) => b[1] - a[1])[0];
    assert.ok(titles.some((title) => title.startsWith(`${name}: `)), name);
    assert.ok(titles[0].startsWith(`all GPU work: ${duration(sum(kernels))}`), titles[0]);
    await context.close();
  });
});
