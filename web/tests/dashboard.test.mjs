// `gpuscope serve DIR` in a real browser: the runs of a folder, the views of each, and what may be changed.

import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { firstClause } from "../dashboard/runs.js";
import { byteSize, duration } from "../lib/units.js";
import { Browser, drawn, Folder, gpuscope, serve } from "./support.mjs";

const VIEWS = {
  analyze: "Overview", timeline: "Timeline", flame: "Flame graph", kernels: "Kernels", ops: "Operators",
  layers: "Layers", idle: "Idle time", collectives: "Collectives", stragglers: "Ranks", memory: "Memory",
  "critical-path": "Critical path", inference: "Inference", launches: "Launches", counters: "Counters", hta: "HTA", check: "Data quality",
};
const HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)<script> & \"it's";
/** Small traces of real programs, where there are some. */
const REAL = process.env.GPUSCOPE_CORPUS
  ? { "h100_bert_small.json.gz": Object.keys(VIEWS), nccl_4ranks: ["analyze", "collectives", "stragglers"] }
  : {};

const folder = new Folder();
/** @type {Browser} */
let browser;
let one;
let reading;
let writing;

before(async () => {
  browser = await Browser.start();
  const runs = folder.file("runs");
  mkdirSync(runs);
  age(folder.demo("runs/train-1", { ranks: 2, bytes: "1MB" }), 2);
  age(folder.demo("runs/train-2", { ranks: 4, bytes: "2MB" }), 1);
  one = readFileSync(join(runs, "train-1", "rank-0.json"));
  writeFileSync(join(runs, `${HOSTILE}.json`), one);
  writeFileSync(join(runs, "damaged.json"), '{"traceEvents": 5}');
  writeFileSync(join(runs, "cut.json"), one.subarray(0, one.length / 2));
  writeFileSync(join(runs, "empty.json"), "");
  writeFileSync(join(runs, "snapshot.pickle"), Buffer.from([0x80, 4, 0x95, 1, 2, 3]));
  for (const [name, text] of [["compile/log.log", compilation()], ["bench/profiling_data.json", benchmarks()]]) {
    mkdirSync(join(runs, name, ".."));
    writeFileSync(join(runs, name), text);
  }
  for (const name of Object.keys(REAL)) cpSync(join(process.env.GPUSCOPE_CORPUS, "traces", name), join(runs, name), { recursive: true });
  const changed = folder.file("changed");
  mkdirSync(changed);
  writeFileSync(join(changed, "first.json"), one);
  [reading, writing] = await Promise.all([serve(runs), serve(changed, "--writable")]);
  await Promise.all([settled(reading), settled(writing)]);
});

after(async () => {
  reading?.stop();
  writing?.stop();
  await browser?.close();
  folder.remove();
});

/** Files of a run that was recorded some hours ago. */
function age(folder, hours) {
  const then = Date.now() / 1000 - hours * 3600;
  for (const file of readdirSync(folder)) utimesSync(join(folder, file), then, then);
}

/** A log of torch.compile with one compilation of 100 µs. */
function compilation() {
  const event = (edge, ts) => `{"name": "dynamo", "ts": ${ts}, "ph": "${edge}", "args": {"compile_id": "0/0"}}`;
  const record = (payload) => `V0401 12:34:56.123456 42 torch/_dynamo/utils.py:7] {"chromium_event": {}, "has_payload": "md5"}\n\t${payload}\n`;
  return record(event("B", 0)) + record(event("E", 100));
}

/** What `gpuscope bench run` writes. */
function benchmarks() {
  const samples_ms = Array.from({ length: 20 }, (_, i) => 1.3 + 0.001 * i);
  const timing = { mean: 1.31, std: 0.01, min: 1.3, max: 1.319, median: 1.31, p95: 1.318, p99: 1.319 };
  const config = { n_layer: 3, n_head: 3, n_embd: 48 };
  const nano = { config, timing, throughput_tokens_per_sec: 195_000, batch_size: 4, seq_len: 64, samples_ms };
  return JSON.stringify({ metadata: { run_id: "r", timestamp: "2026-01-26T14:00:00", gpu_name: "NVIDIA GB10" }, benchmarks: { nano } });
}

const asked = async (server, path) => (await fetch(server.address + path)).json();

async function settled(server) {
  for (;;) {
    const { runs } = await asked(server, "api/v1/runs");
    if (runs.length && runs.every(({ status }) => ["ready", "damaged", "unread"].includes(status))) return runs;
    await new Promise((done) => setTimeout(done, 50));
  }
}

const visit = (address, run, options = {}) =>
  browser.visit(reading.address, { address, ...options }, async (page) => {
    await answered(page);
    await run(page);
  });

/** A page whose answer takes its time shows how far it is, and then the answer. */
async function answered(page) {
  const isReady = () => document.documentElement.dataset.ready === "true" && !document.querySelector("#working:not(.error)");
  await page.waitForFunction(isReady, null, { timeout: 10_000 });
  if (await page.locator("#working").count()) assert.fail(`no answer: ${await page.textContent("#working")}`);
  if (await page.locator("#runs").count()) await page.waitForSelector("tr[data-run]");
}

const row = (page, name) => page.locator(`tr[data-run="${name}"]`);
const names = (page) => page.$$eval("tr[data-run]", (rows) => rows.map((row) => row.dataset.run));
const cell = (page, name, nth) => row(page, name).locator("td").nth(nth).innerText();

/** Nothing but charts and tables in boxes of their own is wider than the page. */
const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

describe("the runs", () => {
  test("each has a row with the numbers that programs get", () =>
    visit("", async (page) => {
      const { runs } = await asked(reading, "api/v1/runs");
      assert.deepEqual((await names(page)).sort(), runs.map(({ id }) => id).sort());
      const percent = (value) => (value === null ? "" : `${value.toFixed(1)} %`);
      for (const [i, run] of runs.entries()) {
        const [, , , gpus, step, , busy, mfu, verdict] = await page.locator("tr[data-run]").nth(i).locator("td").allInnerTexts();
        const ranks = run.ranks === 1 ? "1 rank" : `${run.ranks} ranks`;
        assert.equal(gpus.trim(), run.gpus || (run.sort === "traces" && run.ranks ? ranks : ""));
        assert.equal(step.trim(), run.step_ns === null ? "" : duration(run.step_ns));
        assert.deepEqual([busy, mfu], [percent(run.gpu_busy_pct), percent(run.mfu_pct)]);
        if (run.verdict) assert.equal(verdict, run.damage.length ? `Read in part: ${run.damage.join("; ")}` : firstClause(run.verdict));
      }
    }));

  test("a run shows how it differs from the one of its name before it", () =>
    visit("", async (page) => {
      const { step_ns: before } = await asked(reading, "api/v1/runs/train-1");
      const { step_ns: now } = await asked(reading, "api/v1/runs/train-2");
      const change = (now / before - 1) * 100;
      assert.equal(await cell(page, "train-2", 5), `${change > 0 ? "+" : "−"}${Math.abs(change).toFixed(1)} %`);
      assert.equal(await row(page, "train-2").locator("svg.spark").count(), 1);
      assert.equal(await cell(page, "train-1", 5), "");
    }));

  test("one that cannot be read says why in its row", () =>
    visit("", async (page) => {
      const { detail } = await asked(reading, "api/v1/runs/damaged");
      assert.ok(detail);
      assert.equal(await row(page, "damaged").locator(".error").innerText(), detail);
    }));

  test("one that is cut off, empty or not read says so, too", () =>
    visit("", async (page) => {
      const { damage, verdict } = await asked(reading, "api/v1/runs/cut");
      assert.ok(damage.length > 0 && verdict.startsWith("Read in part: "));
      assert.equal(await row(page, "cut").locator(".warning").innerText(), `Read in part: ${damage.join("; ")}`);
      for (const [name, what] of [["empty.json", "an empty file"], ["snapshot.pickle", "a Python pickle, perhaps a snapshot of torch's memory"]]) {
        assert.equal(await cell(page, name, 8), `Not read: ${what}`);
      }
    }));

  test("after a box was ticked / still searches, and what is ticked comes back from the address", () =>
    visit("", async (page) => {
      await row(page, "train-2").locator("input").check();
      await page.keyboard.press("/");
      await page.keyboard.type("train");
      assert.equal(await page.inputValue("input[type=search]"), "train");
      await row(page, "train-1").locator("input").check();
      await visit(new URL(page.url()).hash, async (other) => {
        const ticked = await other.$$eval("tr[data-run]:has(input:checked)", (rows) => rows.map((row) => row.dataset.run).sort());
        assert.deepEqual(ticked, ["train-1", "train-2"]);
        assert.ok(await other.locator("a.button").isVisible());
      });
    }));

  test("the theme that is chosen is that of every page", () =>
    visit("", async (page) => {
      const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      await page.selectOption("#theme", "dark");
      await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
      await page.goto(`${reading.address}runs/train-2/kernels`);
      await answered(page);
      assert.equal(await ground(), "rgb(13, 17, 23)");
      assert.equal(await page.inputValue("#theme"), "dark");
    }));

  test("what is searched, sorted and chosen is in the address, and comes back from it", () =>
    visit("", async (page) => {
      await page.keyboard.press("/");
      await page.keyboard.type("TRAIN");
      await page.click('th[data-name="step"] button');
      await page.waitForFunction(() => location.hash === "#find=TRAIN&sort=step.down");
      const steps = new Map((await asked(reading, "api/v1/runs")).runs.map((run) => [run.id, run.step_ns]));
      const falling = ["train-1", "train-2"].sort((a, b) => steps.get(b) - steps.get(a));
      assert.deepEqual(await names(page), falling);
      await page.click('th[data-name="step"] button');
      assert.deepEqual(await names(page), falling.toReversed());
      assert.equal(await page.getAttribute('th[data-name="step"]', "aria-sort"), "ascending");
      const hash = new URL(page.url()).hash;
      await visit(hash, async (other) => {
        assert.equal(await other.inputValue("input[type=search]"), "TRAIN");
        assert.deepEqual(await names(other), falling.toReversed());
      });
      await page.fill("input[type=search]", "");
      await page.click(".chips button:has-text('damaged')");
      assert.deepEqual(await names(page), ["damaged"]);
    }));

  test("two that are chosen are compared, from the older to the newer", () =>
    visit("", async (page) => {
      assert.ok(await page.locator("a.button").isHidden());
      await row(page, "train-2").locator("input").check();
      await row(page, "train-1").locator("input").check();
      await page.click("a.button");
      await answered(page);
      assert.deepEqual(await page.$$eval(".ask select", (all) => all.map(({ value }) => value)), ["train-1", "train-2"]);
      assert.match(await page.textContent(".beside"), /A = train-1.*B = train-2.*Step time.*From the step time of A to that of B/s);
      assert.equal(await page.title(), "train-1 → train-2");
      await page.fill('.ask input[name="rank"]', "0");
      await page.click(".ask button");
      await answered(page);
      assert.match(await page.textContent("main"), /2 inputs/);
    }));

  test("names are text, wherever they stand", async () => {
    const id = encodeURIComponent(HOSTILE);
    for (const address of ["", "compare", `runs/${id}/kernels`, `runs/${id}/timeline`, `compare?a=${id}&b=train-1`]) {
      await visit(address, async (page) => {
        assert.ok((await page.content()).includes("onerror=alert(1)"), address);
        assert.equal(await page.locator("img").count(), 0, address);
      });
    }
  });
});

describe("a run", () => {
  test("each view opens from the one before it, of the same rank, and fits a narrow screen", () =>
    visit("runs/train-2/analyze?rank=1", async (page) => {
      for (const [question, title] of Object.entries(VIEWS)) {
        if (question !== "analyze") await page.click(`nav.top a:text-is("${title}")`);
        await answered(page);
        assert.equal(await page.textContent("nav.top a[aria-current]"), title);
        assert.equal(await page.textContent("nav.top .name"), "train-2");
        const links = await page.$$eval("nav.top a", (links) => links.slice(1).map((link) => link.getAttribute("href")));
        assert.ok(links.pop().endsWith("/compare?b=train-2"), title);
        assert.equal(links.length, Object.keys(VIEWS).length);
        assert.ok(links.every((link) => link.endsWith("?rank=1")), `${title}: ${links[0]}`);
        assert.ok((await overflow(page)) <= 0, `${title} is wider than the screen`);
        if (question === "timeline") continue;
        assert.equal(await page.inputValue('.ask input[name="rank"]'), "1", title);
        assert.match(await page.textContent(".ask code"), new RegExp(`^gpuscope ${question} .*train-2/rank-0.json .*--rank 1$`));
        const json = await (await fetch(await page.$eval(".ask a", (link) => link.href))).json();
        assert.equal(json.command, question);
      }
    }, { width: 390 }));

  test("a page opens a second time as it did the first", () =>
    visit("runs/train-2/kernels", async (page) => {
      const cells = () => page.$$eval("main td", (cells) => cells.map((cell) => cell.textContent));
      const first = await cells();
      assert.ok(first.length > 20, `${first}`);
      for (let i = 0; i < 2; i++) {
        await page.goto(`${reading.address}runs/train-2/kernels`);
        await answered(page);
        assert.deepEqual(await cells(), first);
      }
    }));

  for (const [name, views] of Object.entries(REAL)) {
    test(`views of ${name}`, () =>
      visit(`runs/${name.split(".")[0]}/${views[0]}`, async (page) => {
        for (const question of views.slice(1)) {
          await page.click(`nav.top a:text-is("${VIEWS[question]}")`);
          await answered(page);
          assert.equal(await page.textContent("nav.top a[aria-current]"), VIEWS[question]);
        }
      }));
  }

  test("options are asked for in the page, and what is wrong with them is said there", () =>
    visit("runs/train-2/kernels", async (page) => {
      await page.click(".ask summary");
      await page.fill('.ask input[name="num_kernels"]', "3");
      await page.click(".ask button");
      await answered(page);
      assert.match(await page.textContent(".ask code"), /--num-kernels 3$/);
      // Browsers say themselves that an answer is none.
      const answer = await fetch(`${reading.address}runs/train-2/kernels?num_kernels=x`);
      assert.equal(answer.status, 400);
      assert.match(await answer.text(), /<nav class="top"[\s\S]*<h1>No answer/);
    }));

  test("its timeline comes by windows, down to the slices", () =>
    visit("runs/train-2/timeline?rank=1", async (page) => {
      const still = async () => {
        await drawn(page);
        await page.waitForFunction(() => !gpuscope.source.waiting);
        await drawn(page);
      };
      await still();
      const { kernels } = await page.evaluate(() => ({ kernels: gpuscope.timeline.slices }));
      assert.ok(kernels > 1000, `${kernels}`);
      const windows = [];
      page.on("request", (request) => windows.push(request.url()));
      await page.mouse.move(700, 400);
      await page.evaluate(() => gpuscope.canvas.focus());
      for (let i = 0; i < 12; i++) {
        await page.keyboard.press("w");
        await still();
      }
      assert.ok(windows.some((url) => url.includes("/timeline/1/window?")), `${windows}`);
      const alone = await page.evaluate(() => gpuscope.timeline.tracks.flatMap(({ lanes }) => lanes.flatMap(({ many }) => [...(many ?? [])])).filter((many) => many === 1).length);
      assert.ok(alone > 0);
      assert.ok((await page.evaluate(() => document.documentElement.scrollHeight - innerHeight)) <= 0, "fits below the bar");
    }));
});

describe("an answer that takes its time", () => {
  test("shows that it is being worked out, and then comes", async () => {
    const slow = folder.file("slow");
    folder.demo("slow/train", { ranks: 4, bytes: "80MB" });
    const server = await serve(slow);
    const others = new AbortController();
    try {
      await settled(server);
      // On a fast machine it is slow only while others ask, too.
      const asking = Array.from({ length: Math.min(2 * availableParallelism(), 32) }, (_, i) =>
        fetch(`${server.address}api/v1/runs/train/analyze?from=${i + 1}`, { signal: others.signal }).catch(() => null));
      await browser.visit(server.address, { address: "runs/train/analyze" }, async (page) => {
        assert.ok(await page.isVisible("#working progress"));
        assert.match(await page.textContent("#working"), /^\s*(|working out the answer|.* read.*)\s*$/);
        assert.equal(await page.textContent("nav.top a[aria-current]"), "Overview");
        others.abort();
        await answered(page);
        assert.match(await page.textContent(".ask code"), /^gpuscope analyze /);
        assert.equal(await page.locator("nav.views").count(), 1);
      });
      await Promise.all(asking);
    } finally {
      others.abort();
      server.stop();
    }
  });

  const said = (event, data) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
  const half = said("progress", { read_bytes: 50_000_000, total_bytes: 100_000_000 });

  /** A page that waits for an answer, how often it was loaded, and how often its server was asked how far it is. */
  const waiting = (answer, run) =>
    visit("", async (page) => {
      const address = `${reading.address}runs/train-1/idle`;
      const empty = await (await fetch(`${reading.address}compare`)).text();
      const working = '<main class="column"><p id="working" role="status"><progress max="1"></progress> <span></span></p></main>';
      const counts = { loaded: 0, followed: 0 };
      await page.route(address, async (route) => {
        if (route.request().headers().accept === "text/event-stream") {
          counts.followed++;
          await route.fulfill(answer(counts));
          return;
        }
        counts.loaded++;
        if (counts.loaded > 1) await route.continue();
        else await route.fulfill({ contentType: "text/html", body: empty.replace(/<main[\s\S]*<\/main>/, working) });
      });
      await page.goto(address);
      await run(page, counts);
    });
  const stream = (...events) => ({ contentType: "text/event-stream", body: events.join("") });

  test("is loaded once, when it is there", () =>
    waiting(
      () => stream(half, said("done", { ok: true, detail: "" })),
      async (page, counts) => {
        await page.waitForFunction(() => !document.getElementById("working"));
        await answered(page);
        assert.match(await page.textContent(".ask code"), /^gpuscope idle /);
        assert.deepEqual(counts, { loaded: 2, followed: 1 });
      },
    ));

  test("says how much was read", () =>
    waiting(
      // A stream that breaks off is asked for anew.
      () => stream("retry: 100\n", half),
      async (page, counts) => {
        await page.waitForFunction(() => document.querySelector("#working span").textContent);
        assert.equal(await page.textContent("#working span"), `${byteSize(50_000_000)} of ${byteSize(100_000_000)} read`);
        assert.equal(await page.$eval("#working progress", (bar) => bar.value), 0.5);
        while (counts.followed < 3) await new Promise((done) => setTimeout(done, 50));
        assert.equal(counts.loaded, 1);
      },
    ));

  test("says why it does not come, and is not asked for again", () =>
    waiting(
      () => stream(half, said("done", { ok: false, detail: "there are <b>no</b> steps" })),
      async (page, counts) => {
        await page.waitForSelector("#working.error", { timeout: 5_000 });
        assert.equal(await page.textContent("#working"), "there are <b>no</b> steps");
        await page.waitForTimeout(500);
        assert.deepEqual(counts, { loaded: 1, followed: 1 });
      },
    ));

  test("that the server does not tell about is no bar for ever", () =>
    waiting(
      () => ({ status: 204 }),
      async (page, counts) => {
        await page.waitForSelector("#working.error", { timeout: 5_000 });
        assert.match(await page.textContent("#working"), /load this page again/);
        assert.equal(counts.loaded, 1);
      },
    ));
});

describe("other pages", () => {
  test("a log of torch.compile", () =>
    visit("", async (page) => {
      await page.click('tr[data-run="compile~log"] a');
      await answered(page);
      assert.equal(await page.textContent("nav.top a[aria-current]"), "Compile");
      assert.match(await page.textContent("main"), /Compilations by rank/);
    }));

  test("benchmarks, all and one", () =>
    visit("benchmarks", async (page) => {
      await page.click(".ask a");
      await answered(page);
      assert.match(await page.textContent("h1"), /nano \(1\.310 ms/);
    }));

  test("a question for programs is tried in the page", () =>
    visit("api/", async (page) => {
      const form = page.locator('form[action$="/kernels"]');
      await form.locator('[name="num_kernels"]').fill("2");
      const opened = page.context().waitForEvent("page");
      await form.locator("button").click();
      const answer = await opened;
      await answer.waitForLoadState();
      const said = JSON.parse(await answer.textContent("body"));
      assert.equal(said.command, "kernels", said.detail);
      const own = await page.$$eval("main p a", (links) => links.map((link) => link.href));
      for (const address of own) assert.equal((await fetch(address)).status, 200, address);
    }));

  test("both themes, and a narrow screen", async () => {
    const ground = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    for (const address of ["", "compare?a=train-1&b=train-2", "benchmarks", "api/", "runs/compile~log/compile"]) {
      const narrow = async (page) => {
        assert.ok((await overflow(page)) <= 0, address);
        assert.equal(await ground(page), "rgb(13, 17, 23)");
      };
      await visit(address, narrow, { width: 390, dark: true });
    }
    await visit("", async (page) => assert.equal(await ground(page), "rgb(255, 255, 255)"));
  });
});

describe("what changes", () => {
  const change = (run) => browser.visit(writing.address, {}, async (page) => (await page.waitForSelector("tr[data-run]"), run(page)));

  test("tags and a note are kept, and searched; a run that lands disturbs nobody who writes", () =>
    change(async (page) => {
      await row(page, "first").locator("button").click();
      await page.keyboard.type("good, <b>bold</b>");
      gpuscope("demo", "--only-write", "--ranks", 1, "--bytes", "300KB", "-o", folder.file("changed/landed"));
      await page.waitForSelector('tr[data-run^="landed"][data-status="ready"]');
      assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Tags");
      await page.keyboard.type(", late");
      await row(page, "first").locator("textarea").fill("as it should be");
      await row(page, "first").locator("button:text-is('Save')").click();
      await row(page, "first").locator(".tag").first().waitFor();
      assert.deepEqual(await row(page, "first").locator(".tag").allTextContents(), ["good", "<b>bold</b>", "late"]);
      const { tags, note } = await asked(writing, "api/v1/runs/first");
      assert.deepEqual([tags, note], [["good", "<b>bold</b>", "late"], "as it should be"]);
      await page.fill("input[type=search]", "as it should");
      assert.deepEqual(await names(page), ["first"]);
    }));

  test("a trace that is dropped on the page becomes a run", () =>
    change(async (page) => {
      const text = one.toString("utf8");
      const dropped = await page.evaluateHandle((text) => {
        const data = new DataTransfer();
        data.items.add(new File([text], "dropped.json"));
        return data;
      }, text);
      await page.dispatchEvent("#runs", "drop", { dataTransfer: dropped });
      await page.waitForSelector('tr[data-run$="dropped"][data-status="ready"]');
      assert.ok(existsSync(folder.file("changed/uploads/dropped.json")));
    }));

  test("without --writable nothing is written", async () => {
    await visit("", async (page) => assert.equal(await page.locator(".written button").count(), 0));
    const put = { method: "PUT", body: "{}" };
    assert.equal((await fetch(`${reading.address}api/v1/uploads/x.json`, put)).status, 403);
  });

  test("an empty folder says what to do until the first run lands", async () => {
    const empty = folder.file("empty");
    mkdirSync(empty);
    const server = await serve(empty);
    try {
      await browser.visit(server.address, {}, async (page) => {
        await page.waitForSelector("text=There are no runs here yet");
        writeFileSync(join(empty, "first.json"), one);
        await page.waitForSelector('tr[data-run="first"][data-status="ready"]');
        assert.ok(await page.locator("text=There are no runs here yet").isHidden());
      });
    } finally {
      server.stop();
    }
  });
});
