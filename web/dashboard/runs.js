// A row for each run: what it was, how long a step took beside the runs of its name before it, and what the verdict is. What is
// searched, sorted and chosen is in the address; what lands while one looks appears, and nothing jumps.

import { byId, element } from "../lib/dom.js";
import { byteSize, duration } from "../lib/units.js";

/**
 * @typedef {{id: string, name: string, sort: string, files: number, bytes: number, modified_ms: number, status: string,
 *   detail: string | null, read_bytes: number | null, total_bytes: number | null, verdict: string | null, gpus: string | null,
 *   ranks: number | null, steps: number | null, step_ns: number | null, gpu_busy_pct: number | null, mfu_pct: number | null,
 *   exposed_communication_pct: number | null, tags: string[], note: string, course_step_ns: (number | null)[],
 *   before: string | null, change_pct: number | null, view: string | null, damage: string[],
 *   models: string[]}} Run
 */

/** @typedef {{title: string, name: string, number: boolean, value: (run: Run) => number | string | null, show: (run: Run) => (Node | string)[]}} Column */

/** @type {Column[]} */
const COLUMNS = [
  { title: "Run", name: "name", number: false, value: (run) => run.name, show: shownName },
  { title: "Recorded", name: "modified", number: true, value: (run) => run.modified_ms, show: (run) => [when(run.modified_ms)] },
  { title: "GPUs", name: "gpus", number: false, value: (run) => shownGpus(run) || null, show: (run) => [shownGpus(run)] },
  { title: "Step time", name: "step", number: true, value: (run) => run.step_ns, show: shownStep },
  { title: "Change", name: "change", number: true, value: (run) => run.change_pct, show: shownChange },
  { title: "GPU busy", name: "busy", number: true, value: (run) => run.gpu_busy_pct, show: (run) => [percent(run.gpu_busy_pct)] },
  { title: "MFU", name: "mfu", number: true, value: (run) => run.mfu_pct, show: (run) => [percent(run.mfu_pct)] },
  { title: "Verdict", name: "verdict", number: false, value: (run) => run.verdict, show: shownVerdict },
];

/** What is in runs that have no verdict. @type {Record<string, string>} */
const SORTS = { compile: "what torch.compile did", benchmarks: "benchmarks" };

const STATUSES = ["ready", "reading", "waiting", "landing", "damaged", "unread"];

export function showRuns() {
  const place = byId("runs");
  const main = /** @type {HTMLElement} */ (place.parentElement);
  const page = new RunsPage(place, main.dataset.writable === "true");
  page.follow();
}

class RunsPage {
  /** @param {HTMLElement} place @param {boolean} writable */
  constructor(place, writable) {
    this.place = place;
    this.writable = writable;
    /** @type {Run[]} */
    this.runs = [];
    /** @type {Set<string>} */
    this.chosen = new Set();
    this.wanted = new URLSearchParams(location.hash.slice(1));
    this.choose();
    this.rows = element("tbody", {});
    this.chips = element("div", { class: "chips", role: "group", "aria-label": "Filters" });
    this.compare = element("a", { class: "button", href: "compare" }, "Compare");
    this.said = element("p", { class: "soft", role: "status" });
    this.search = element("input", { type: "search", placeholder: "Search runs, GPUs, tags ( / )", "aria-label": "Search" });
    this.search.value = this.wanted.get("find") ?? "";
    this.search.addEventListener("input", () => this.want("find", this.search.value));
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !isTyped(event.target)) {
        event.preventDefault();
        this.search.focus();
      }
    });
    addEventListener("hashchange", () => {
      this.wanted = new URLSearchParams(location.hash.slice(1));
      this.choose();
      this.tick();
      if (document.activeElement !== this.search) this.search.value = this.wanted.get("find") ?? "";
      this.draw();
    });
    const heads = COLUMNS.map((column) => this.head(column));
    const head = element("tr", {}, element("th", { scope: "col" }, element("span", { class: "visually-hidden" }, "Choose")), ...heads);
    this.table = element("table", { class: "runs" }, element("thead", {}, head), this.rows);
    const controls = element("div", { class: "controls" }, this.search, this.chips, this.compare);
    place.append(controls, this.said, element("div", { class: "wide" }, this.table));
    if (writable) this.takeFiles();
  }

  /** @param {Column} column */
  head(column) {
    const button = element("button", { type: "button", class: "link sort" }, column.title);
    const head = element("th", { scope: "col", class: column.number ? "n" : "", "data-name": column.name }, button);
    button.addEventListener("click", () => {
      const [by, way] = this.order();
      const down = by === column.name ? way !== "down" : column.number;
      this.want("sort", `${column.name}.${down ? "down" : "up"}`);
    });
    return head;
  }

  order() {
    return (this.wanted.get("sort") ?? "modified.down").split(".");
  }

  /** @param {string} name @param {string} value */
  want(name, value) {
    if (value) this.wanted.set(name, value);
    else this.wanted.delete(name);
    history.replaceState(null, "", `#${this.wanted}`);
    this.draw();
  }

  /** Whose boxes the address has ticked: two at most. */
  choose() {
    this.chosen = new Set(this.wanted.getAll("run").slice(0, 2));
  }

  tick() {
    for (const row of this.rows.rows) {
      const box = row.querySelector("input");
      if (box) box.checked = this.chosen.has(row.dataset.run ?? "");
    }
  }

  /** Asks now, and again whenever the server says that something has changed. */
  async follow() {
    await this.ask();
    const events = new EventSource("api/v1/events");
    let [asked, again] = [false, false];
    const changed = async () => {
      if (asked) {
        again = true;
        return;
      }
      asked = true;
      do {
        again = false;
        await this.ask();
        await new Promise((done) => setTimeout(done, 250));
      } while (again);
      asked = false;
    };
    events.addEventListener("runs", changed);
    events.addEventListener("open", changed);
    // What is being read moves without word from the server.
    setInterval(() => {
      if (this.runs.some((run) => run.status === "reading")) changed();
    }, 500);
  }

  async ask() {
    try {
      const answer = await fetch("api/v1/runs");
      if (!answer.ok) throw new Error(`${answer.status}`);
      this.runs = (await answer.json()).runs;
      this.draw();
    } catch {
      this.said.textContent = "The server does not answer. This page goes on trying.";
    }
  }

  draw() {
    const find = (this.wanted.get("find") ?? "").toLowerCase();
    const text = (/** @type {Run} */ run) => [run.name, shownGpus(run), run.verdict, run.note, ...run.tags].join(" ").toLowerCase();
    const [by, way] = this.order();
    const column = COLUMNS.find((column) => column.name === by) ?? COLUMNS[1];
    const sign = way === "down" ? -1 : 1;
    const shown = this.runs
      .filter((run) => this.fits(run) && (!find || text(run).includes(find)))
      .sort((a, b) => compared(column.value(a), column.value(b), sign));
    for (const head of this.table.tHead?.rows[0].cells ?? []) {
      if (head.dataset.name === by) head.setAttribute("aria-sort", way === "down" ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    // Rows that are there stay what they are, so that focus and selection stay, too.
    const before = new Map([...this.rows.rows].map((row) => [row.dataset.run, row]));
    const rows = shown.map((run) => {
      const now = JSON.stringify(run);
      const row = before.get(run.id);
      // Nor does what is being written in a row go.
      if (row && (row.dataset.now === now || row.querySelector("form"))) return row;
      const made = this.row(run);
      made.dataset.now = now;
      return made;
    });
    for (const row of [...this.rows.rows]) if (!rows.includes(row)) row.remove();
    rows.forEach((row, i) => {
      if (this.rows.rows[i] !== row) this.rows.insertBefore(row, this.rows.rows[i] ?? null);
    });
    this.drawChips();
    this.drawCompare();
    this.drawCount(shown.length);
  }

  /** @param {number} shown */
  drawCount(shown) {
    const all = this.runs.length;
    const nothing = document.getElementById("nothing");
    if (all === 0 && nothing instanceof HTMLTemplateElement) {
      this.said.replaceChildren(nothing.content.cloneNode(true));
      this.table.hidden = true;
      return;
    }
    this.table.hidden = false;
    const runs = all === 1 ? "1 run" : `${all} runs`;
    this.said.textContent = shown === all ? runs : `${shown} of ${runs}`;
  }

  /** What runs are filtered by: name in the address, and what a run has of it. @type {[string, (run: Run) => string[]][]} */
  static FILTERS = [
    ["status", (run) => [run.status]],
    ["gpu", (run) => run.models],
    ["tag", (run) => run.tags],
  ];

  /** Whether a run has what every chosen chip asks for. @param {Run} run */
  fits(run) {
    return RunsPage.FILTERS.every(([name, of]) => {
      const wanted = this.wanted.get(name);
      return !wanted || of(run).includes(wanted);
    });
  }

  drawChips() {
    const chips = RunsPage.FILTERS.flatMap(([name, of]) => {
      const chosen = this.wanted.get(name);
      /** @type {Map<string, number>} */
      const counts = new Map(chosen ? [[chosen, 0]] : []);
      for (const value of this.runs.flatMap(of)) counts.set(value, (counts.get(value) ?? 0) + 1);
      const order = (/** @type {string} */ value) => (name === "status" ? String(STATUSES.indexOf(value)) : value);
      const values = [...counts.keys()].sort((a, b) => order(a).localeCompare(order(b), "en", { numeric: true }));
      // A filter that everything passes is none.
      if (values.length < 2 && !chosen && (name !== "tag" || values.length === 0)) return [];
      return values.map((value) => {
        const attributes = { type: "button", "aria-pressed": String(value === chosen), "data-filter": name };
        const chip = element("button", attributes, `${value} ${counts.get(value)}`);
        chip.addEventListener("click", () => this.want(name, value === chosen ? "" : value));
        return chip;
      });
    });
    const focused = [...this.chips.children].findIndex((chip) => chip === document.activeElement);
    this.chips.replaceChildren(...chips);
    const again = this.chips.children[focused];
    if (again instanceof HTMLElement) again.focus();
  }

  drawCompare() {
    const [a, b] = this.chosen;
    this.compare.hidden = this.chosen.size !== 2;
    // From the older one to the newer one.
    const time = (/** @type {string} */ id) => this.runs.find((run) => run.id === id)?.modified_ms ?? 0;
    const [from, to] = time(a) <= time(b) ? [a, b] : [b, a];
    this.compare.setAttribute("href", `compare?${new URLSearchParams({ a: from ?? "", b: to ?? "" })}`);
  }

  /** @param {Run} run */
  row(run) {
    const choose = element("input", { type: "checkbox", "aria-label": `Compare ${run.name}` });
    choose.checked = this.chosen.has(run.id);
    choose.disabled = run.sort !== "traces";
    choose.addEventListener("change", () => {
      if (choose.checked) this.chosen.add(run.id);
      else this.chosen.delete(run.id);
      // Two are compared: the first chosen makes room for a third.
      if (this.chosen.size > 2) {
        this.chosen.delete([...this.chosen][0]);
        this.tick();
      }
      this.wanted.delete("run");
      for (const id of this.chosen) this.wanted.append("run", id);
      history.replaceState(null, "", `#${this.wanted}`);
      this.drawCompare();
    });
    const cells = COLUMNS.map((column) => {
      const cell = element("td", { class: column.number ? "n" : "", "data-title": column.title }, ...column.show(run));
      if (column.name === "name") cell.append(this.written(run));
      return cell;
    });
    return element("tr", { "data-run": run.id, "data-status": run.status }, element("td", {}, choose), ...cells);
  }

  /** Tags and note, to be changed where that is allowed. @param {Run} run */
  written(run) {
    const tags = run.tags.map((tag) => element("span", { class: "tag" }, tag));
    const shown = element("div", { class: "written soft" }, ...tags, run.note);
    if (!this.writable) return shown;
    const edit = element("button", { type: "button", class: "link" }, run.tags.length || run.note ? "edit" : "add a note");
    edit.addEventListener("click", () => {
      const tagged = element("input", { value: run.tags.join(", "), placeholder: "tags, separated by commas", "aria-label": "Tags" });
      const note = element("textarea", { rows: "2", "aria-label": "Note" });
      note.value = run.note;
      const save = element("button", { type: "submit" }, "Save");
      const said = element("span", { class: "error", role: "status" });
      const form = element("form", {}, tagged, note, save, said);
      form.addEventListener("submit", async (event) => {
        event.preventDefault();
        const body = JSON.stringify({ tags: tagged.value.split(","), note: note.value });
        const headers = { "content-type": "application/json" };
        const answer = await fetch(`api/v1/runs/${encodeURIComponent(run.id)}/written`, { method: "PUT", headers, body });
        if (!answer.ok) {
          said.textContent = (await answer.json()).detail;
          return;
        }
        shown.replaceWith(this.written(run));
        await this.ask();
      });
      form.addEventListener("keydown", (event) => {
        if (event.key === "Escape") shown.replaceWith(this.written(run));
      });
      shown.replaceChildren(form);
      tagged.focus();
    });
    shown.append(" ", edit);
    return shown;
  }

  /** Traces that are dropped on the page are taken into the folder. */
  takeFiles() {
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", async (event) => {
      event.preventDefault();
      for (const file of event.dataTransfer?.files ?? []) {
        this.said.textContent = `${file.name} is on its way`;
        const answer = await fetch(`api/v1/uploads/${encodeURIComponent(file.name)}`, { method: "PUT", body: file });
        const problem = answer.ok ? null : await answer.json();
        this.said.textContent = problem ? `${file.name}: ${problem.detail}; ${problem.hint}` : `${file.name} has arrived`;
      }
    });
  }
}

/** Boxes to tick are no place to type in. @param {EventTarget | null} target */
function isTyped(target) {
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button"].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

/**
 * What is not known comes last, whichever way.
 * @param {number | string | null} a
 * @param {number | string | null} b
 * @param {number} sign
 */
function compared(a, b, sign) {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
}

/** @param {Run} run */
function shownName(run) {
  const view = run.sort === "compile" ? "compile" : run.sort === "benchmarks" ? "bench" : (run.view ?? "analyze");
  const link = element("a", { href: `runs/${encodeURIComponent(run.id)}/${view}` }, run.name);
  const files = run.files === 1 ? "1 file" : `${run.files} files`;
  return [link, element("div", { class: "soft" }, `${files} · ${byteSize(run.bytes)}`)];
}

/** Model and ranks; the ranks alone where no model is known. @param {Run} run */
function shownGpus(run) {
  if (run.gpus) return run.gpus;
  if (run.sort !== "traces" || !run.ranks || run.view) return "";
  return run.ranks === 1 ? "1 rank" : `${run.ranks} ranks`;
}

/** @param {Run} run */
function shownStep(run) {
  if (run.step_ns === null) return [""];
  const course = run.course_step_ns.filter((step) => step !== null);
  return [duration(run.step_ns), ...(course.length > 1 ? [sparkline(course)] : [])];
}

/** @param {Run} run */
function shownChange(run) {
  if (run.change_pct === null) return [""];
  const sign = run.change_pct > 0 ? "+" : run.change_pct < 0 ? "−" : "";
  const size = Math.abs(run.change_pct);
  const kind = size < 2 ? "" : run.change_pct > 0 ? "warning" : "better";
  return [element("span", { class: kind, title: `beside ${run.before}` }, `${sign}${size.toFixed(1)} %`)];
}

/** @param {Run} run */
function shownVerdict(run) {
  switch (run.status) {
    case "reading": {
      const share = run.total_bytes ? (run.read_bytes ?? 0) / run.total_bytes : 0;
      return [element("progress", { value: String(share), max: "1", "aria-label": "Reading" }), " reading"];
    }
    case "waiting":
      return [element("span", { class: "soft" }, "waiting to be read")];
    case "landing":
      return [element("span", { class: "soft" }, "still being written")];
    case "damaged":
      return [element("span", { class: "error" }, run.detail ?? "cannot be read")];
    case "unread":
      return [element("span", { class: "soft", title: run.detail ?? "" }, `Not read: ${firstClause(run.detail ?? "")}`)];
    default: {
      if (run.verdict === null) return [element("span", { class: "soft" }, SORTS[run.sort] ?? "")];
      if (run.damage.length) return [element("span", { class: "warning", title: run.verdict }, `Read in part: ${run.damage.join("; ")}`)];
      return [element("span", { title: run.verdict }, firstClause(run.verdict))];
    }
  }
}

/**
 * What a verdict says first: up to the end of its first clause, however long the rest. Points within numbers end nothing.
 * @param {string} verdict
 */
export function firstClause(verdict) {
  const end = verdict.search(/[.;:](\s|$)/);
  return end < 0 ? verdict : verdict.slice(0, end);
}

/** From zero, so that small changes look small. @param {number[]} values */
function sparkline(values) {
  const [width, height] = [96, 20];
  const most = Math.max(...values);
  const points = values.map((value, i) => `${((i / (values.length - 1)) * width).toFixed(1)},${(height - 1 - (value / most) * (height - 2)).toFixed(1)}`);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("class", "spark");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `step time over ${values.length} runs`);
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  line.setAttribute("points", points.join(" "));
  line.setAttribute("fill", "none");
  line.setAttribute("stroke", "currentColor");
  svg.append(line);
  return svg;
}

/** @param {number | null} value */
function percent(value) {
  return value === null ? "" : `${value.toFixed(1)} %`;
}

/** @param {number} ms */
function when(ms) {
  const date = new Date(ms);
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
