// Script planted in every string of a trace, and in the name of its file: every page shows it as text. A page may not say
// anything on the console, so that what its policy stops is noticed, too.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";

import { Browser, Folder, drawn, gpuscope, live, view } from "./support.mjs";

const EVIL =
  "\u001b\u0007\u0000\u202e</script><script>window.planted = 1</script>" +
  '<img src=x onerror="window.planted = 1"><svg onload="window.planted = 1">' +
  "\"'`${window.planted = 1}]]>--><a href=\"javascript:window.planted = 1\">\uffff";
const NAME = 'rank0\u001b<img src=x onerror="window.planted = 1">\'&.json';

const COMMANDS = [
  ["analyze"],
  ["annotations"],
  ["breakdown"],
  ["check"],
  ["collectives"],
  ["critical-path"],
  ["flame"],
  ["flame", "--by", "host", "--stacks", "operators"],
  ["hta"],
  ["info"],
  ["kernels"],
  ["layers"],
  ["memory"],
  ["op-kernels"],
  ["ops"],
  ["stacks"],
  ["timeline"],
];

const folder = new Folder();
/** @type {Browser} */
let browser;
let trace;

/** Behind every text but those by which events are recognised. */
function plant(value, key = "") {
  if (typeof value === "string") {
    const stays = ["ph", "cat"].includes(key) || (key === "name" && /^(ProfilerStep|process_|thread_)/.test(value));
    return stays ? value : value + EVIL;
  }
  if (Array.isArray(value)) return value.map((one) => plant(one));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plant(one, key)]));
  }
  return value;
}

before(async () => {
  browser = await Browser.start();
  const job = folder.demo("job", { ranks: 1, bytes: "300KB" });
  mkdirSync(folder.file("planted"));
  trace = folder.file(`planted/${NAME}`);
  writeFileSync(trace, JSON.stringify(plant(JSON.parse(readFileSync(`${job}/rank-0.json`, "utf8")))));
});

after(async () => {
  await browser?.close();
  folder.remove();
});

/** Looks at everything there is to see, and fails if any of it is more than text. */
async function lookOver(page) {
  const charts = page.locator("figure[data-figure]:visible");
  for (let i = 0; i < (await charts.count()); i++) {
    await live(page, charts.nth(i));
    const box = await charts.nth(i).boundingBox();
    if (box) await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  }
  for (const part of [0.2, 0.5, 0.8]) {
    await page.mouse.move(1280 * part, 800 * part);
    await drawn(page);
  }
  const found = await page.evaluate(() => ({
    ran: "planted" in window,
    harm: document.querySelectorAll('img[src="x"], svg[onload], a[href^="javascript:"]').length,
  }));
  assert.equal(found.ran, false, "what was planted ran");
  assert.equal(found.harm, 0, "what was planted is an element of the page");
}

describe("a page of a trace that means harm", () => {
  for (const words of COMMANDS) {
    test(`${words.join(" ")} shows it as text`, async () => {
      const file = folder.file(`${words.join("-")}.html`);
      gpuscope(...words, trace, "-o", file);
      await browser.visit(file, {}, lookOver);
    });
  }

  test("view shows it as text", async () => {
    const server = await view(trace);
    try {
      await browser.visit(server.address, {}, lookOver);
    } finally {
      server.stop();
    }
  });
});
