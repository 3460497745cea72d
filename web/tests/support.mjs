// What tests of pages share: traces made by the program under test, and a browser without a network that minds every
// message and every request.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** `cargo xtask test` says where things are. */
function given(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; run these tests by \`cargo xtask pages\``);
  return value;
}

const { chromium } = createRequire(join(given("GPUSCOPE_PAGES_TOOLS"), "x.js"))("playwright-core");

/** Runs the program under test. */
export function gpuscope(...words) {
  return execFileSync(given("GPUSCOPE"), words.map(String), { encoding: "utf8", maxBuffer: 1 << 30 });
}

/** `gpuscope view`, until it is stopped. */
export const view = (...words) => server("view", ...words);

/** `gpuscope serve`, until it is stopped. */
export const serve = (...words) => server("serve", "--port", "0", ...words);

async function server(command, ...words) {
  const process = spawn(given("GPUSCOPE"), [command, "--no-open", ...words], { stdio: ["ignore", "pipe", "inherit"] });
  const address = await new Promise((found, failed) => {
    process.stdout.once("data", (text) => found(String(text).trim()));
    process.once("exit", (code) => failed(new Error(`gpuscope ${command} ended with ${code}`)));
  });
  return { address, stop: () => process.kill() };
}

/** A folder that is gone after the tests. */
export class Folder {
  path = mkdtempSync(join(tmpdir(), "gpuscope-pages-"));

  file(name) {
    return join(this.path, name);
  }

  /** Traces of a simulated job. */
  demo(name, { ranks = 1, bytes }) {
    const folder = this.file(name);
    gpuscope("demo", "--only-write", "--ranks", ranks, "--bytes", bytes, "-o", folder);
    return folder;
  }

  remove() {
    rmSync(this.path, { recursive: true, force: true });
  }
}

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

export class Browser {
  static async start() {
    const started = new Browser();
    const executablePath = given("GPUSCOPE_CHROMIUM");
    started.browser = await chromium.launch({ executablePath, args: FLAGS, headless: true });
    return started;
  }

  /**
   * Opens a page from disk or from `gpuscope view`, runs a test on it once it is ready, and fails if the page said
   * anything or asked for anything but itself, or its own server.
   */
  async visit(file, options, test) {
    const { address = "", dark = false, width = 1280, height = 800, scripts = true } = options;
    const served = file.startsWith("http://127.0.0.1:");
    const context = await this.browser.newContext({
      viewport: { width, height },
      colorScheme: dark ? "dark" : "light",
      offline: !served,
      javaScriptEnabled: scripts,
      acceptDownloads: true,
    });
    const page = await context.newPage();
    const own = served ? file : pathToFileURL(file).href;
    const complaints = watch(page, (url) => (served ? url.startsWith(own) : url === own));
    try {
      await page.goto(own + address);
      if (scripts) await page.waitForFunction(() => document.documentElement.dataset.ready === "true");
      await test(page);
      assert.deepEqual(complaints, []);
    } catch (error) {
      if (complaints.length) error.message += `\nthe page complained: ${complaints.join("; ")}`;
      throw error;
    } finally {
      await context.close();
    }
  }

  async close() {
    await this.browser.close();
  }
}

/** What a page may not do; data inside the page itself is no request. */
function watch(page, isOwn) {
  const complaints = [];
  page.on("console", (message) => complaints.push(`console ${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("request", (request) => {
    const url = request.url().split("#")[0];
    if (!isOwn(url) && !url.startsWith("data:") && !url.startsWith("blob:")) complaints.push(`request: ${url}`);
  });
  return complaints;
}

/** Lets the page draw what was asked for. */
export async function drawn(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

const GPU = new Set(["kernel", "gpu_memcpy", "gpu_memset"]);
const HOST = new Set(["cpu_op", "python_function", "user_annotation", "cuda_runtime", "cuda_driver"]);

/**
 * A trace as its file says, read in the plainest way: events with whole nanoseconds since the first one.
 * @returns {{name: string, sort: "gpu" | "host", track: number, start: number, end: number, args: any}[]}
 */
export function readTrace(file) {
  // Times have more digits than a number holds; as text they lose none.
  const text = readFileSync(file, "utf8").replace(/"(ts|dur)": ?(-?[\d.]+)/g, '"$1": "$2"');
  const found = JSON.parse(text)
    .traceEvents.filter(({ ph, cat }) => ph === "X" && (GPU.has(cat) || HOST.has(cat)))
    .map(({ name, cat, tid, ts, dur, args }) => {
      const place = GPU.has(cat) ? { sort: "gpu", track: args.stream } : { sort: "host", track: tid };
      return { name, ...place, start: nanoseconds(ts), dur: nanoseconds(dur), args };
    });
  const first = found.reduce((least, { start }) => (start < least ? start : least), found[0].start);
  return found.map(({ start, dur, ...event }) => {
    const begun = Number(start - first);
    return { ...event, start: begun, end: begun + Number(dur) };
  });
}

/** Microseconds in decimal. */
function nanoseconds(text) {
  const [whole, part = ""] = text.split(".");
  return BigInt(whole + part.padEnd(3, "0").slice(0, 3));
}

/** Time covered by any of some spans. */
export function covered(spans) {
  let [sum, until] = [0, -Infinity];
  for (const { start, end } of [...spans].sort((a, b) => a.start - b.start)) {
    sum += Math.max(0, end - Math.max(start, until));
    until = Math.max(until, end);
  }
  return sum;
}

/** Brings a chart into sight, where plotly takes it over. */
export async function live(page, chart) {
  await chart.evaluate((chart) => chart.scrollIntoView({ block: "center" }));
  await page.waitForFunction((chart) => chart.dataset.live === "true", await chart.elementHandle());
}
