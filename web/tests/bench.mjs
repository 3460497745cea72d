// What a page costs the browser, as JSON: `node bench.mjs timeline|report PAGE.html`, `node bench.mjs view TRACE`.
// Measured in the page's main thread while its timeline pans and zooms by itself, a step in every frame.

import { statSync } from "node:fs";

import { Browser, view } from "./support.mjs";

const [sort, path] = process.argv.slice(2);
/** In and out and to the sides, over and over. */
const KEYS = "wwwwwwwwwwdddddddddssssssaaaaaaaaawwwwwwwwwwwwddddddaaaaaasssssssssssssssssss";
const ROUNDS = 6;
const OPENINGS = 5;

const server = sort === "view" ? await view(path) : null;
const file = server?.address ?? path;
const browser = await Browser.start();
const options = { width: 1400, height: 900 };

/** Milliseconds since the page was asked for, best of some. */
const opened = [];
/** By a page that is served, until it is ready. */
let received = 0;
for (let i = 0; i < OPENINGS; i++) {
  await browser.visit(file, options, async (page) => {
    opened.push(
      await page.evaluate(() => {
        const [paint] = performance.getEntriesByName("first-contentful-paint");
        const [ready] = performance.getEntriesByName("ready");
        return { readable: paint.startTime, interactive: ready.startTime };
      }),
    );
    received = await page.evaluate(() =>
      ["navigation", "resource"]
        .flatMap((sort) => performance.getEntriesByType(sort))
        .reduce((sum, { transferSize }) => sum + transferSize, 0),
    );
  });
}

let frames;
let slices;
await browser.visit(file, { ...options, address: sort === "report" ? "#timeline" : "" }, async (page) => {
  await page.waitForFunction(() => window.gpuscope && !gpuscope.source.waiting);
  slices = await page.evaluate(() => gpuscope.timeline.slices);
  frames = await recorded(page, () =>
    page.evaluate(
      async ([keys, rounds]) => {
        const frame = () => new Promise((done) => requestAnimationFrame(done));
        for (let round = 0; round < rounds; round++) {
          for (const key of keys) {
            document.dispatchEvent(new KeyboardEvent("keydown", { key }));
            await frame();
          }
        }
      },
      [KEYS, ROUNDS],
    ),
  );
});
await browser.close();
server?.stop();

const least = (values) => Math.min(...values);
console.log(
  JSON.stringify({
    slices,
    bytes: server ? received : statSync(path).size,
    readable_ms: least(opened.map(({ readable }) => readable)),
    interactive_ms: least(opened.map(({ interactive }) => interactive)),
    frames: frames.length,
    cpu_ms: spread(frames.map(({ cpu }) => cpu)),
    wall_ms: spread(frames.map(({ wall }) => wall)),
  }),
);

/** All work of the main thread from one frame to the next, in milliseconds of its own CPU time and of the clock. */
async function recorded(page, run) {
  const session = await page.context().newCDPSession(page);
  const events = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(...value));
  const done = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
  await session.send("Tracing.start", { categories: "devtools.timeline,disabled-by-default-devtools.timeline" });
  await run();
  await session.send("Tracing.end");
  await done;
  const { pid, tid } = events.find(({ name }) => name === "FireAnimationFrame");
  const own = events.filter((event) => event.pid === pid && event.tid === tid).sort((a, b) => a.ts - b.ts);
  const fired = own.filter(({ name }) => name === "FireAnimationFrame").map(({ ts }) => ts);
  const frames = [];
  // A frame is the task that its callbacks are called in, and all tasks up to the next such one.
  for (const { ts, dur, tdur } of own.filter(({ name, dur }) => name === "RunTask" && dur)) {
    while (fired.length && fired[0] < ts) fired.shift();
    if (fired[0] < ts + dur) frames.push({ cpu: 0, wall: 0 });
    const frame = frames.at(-1);
    if (!frame) continue;
    frame.cpu += (tdur ?? dur) / 1000;
    frame.wall += dur / 1000;
  }
  return frames.slice(0, -1);
}

function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share) => sorted[Math.floor((sorted.length - 1) * share)];
  return { median: at(0.5), p99: at(0.99) };
}
