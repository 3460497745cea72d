// Tables that can be sorted, searched and taken along as CSV. Without this script they are whole and readable.

import { element } from "../lib/dom.js";
import { grouped } from "../lib/units.js";

const FIRST_ROWS = 10;

/** @param {HTMLTableElement} table */
export function enliven(table) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const state = { all: rows.length <= FIRST_ROWS, find: "" };
  const controls = element("div", { class: "controls" });
  const show = () => {
    let shown = 0;
    for (const row of body.rows) {
      const hit = !state.find || (row.textContent ?? "").toLowerCase().includes(state.find);
      row.hidden = !hit || (!state.all && shown >= FIRST_ROWS);
      if (hit) shown++;
    }
  };
  if (rows.length > FIRST_ROWS) {
    const find = element("input", { type: "search", placeholder: "Search", "aria-label": "Search this table" });
    find.addEventListener("input", () => {
      state.find = find.value.toLowerCase();
      show();
    });
    const more = element("button", { type: "button" }, `Show all ${rows.length}`);
    more.addEventListener("click", () => {
      state.all = !state.all;
      more.textContent = state.all ? `Show the first ${FIRST_ROWS}` : `Show all ${rows.length}`;
      show();
    });
    controls.append(find, more);
  }
  const csv = element("button", { type: "button" }, "CSV");
  csv.addEventListener("click", () => download(table));
  controls.append(csv);
  table.parentElement?.before(controls);
  sortable(table, rows, show);
  body.addEventListener("pointerover", ({ target }) => tellExactly(table, target));
  show();
}

/** A number that is rounded is whole when pointed at. @param {HTMLTableElement} table @param {EventTarget | null} target */
function tellExactly(table, target) {
  const cell = target instanceof Element ? target.closest("td") : null;
  const unit = cell && table.tHead?.rows[0].cells[cell.cellIndex].dataset.unit;
  if (unit && cell.dataset.value && !cell.title) cell.title = `${grouped(Number(cell.dataset.value))} ${unit}`;
}

/**
 * @param {HTMLTableElement} table
 * @param {HTMLTableRowElement[]} rows
 * @param {() => void} show
 */
function sortable(table, rows, show) {
  const heads = [...(table.tHead?.rows[0].cells ?? [])];
  heads.forEach((head, column) => {
    const button = element("button", { type: "button", class: "link sort" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const numbers = head.classList.contains("n");
      const before = head.getAttribute("aria-sort");
      // Numbers are wanted largest first, names from A.
      const down = before ? before === "ascending" : numbers;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sorted = [...rows].sort((a, b) => compared(a.cells[column], b.cells[column]) * (down ? -1 : 1));
      table.tBodies[0].append(...sorted);
      show();
    });
  });
}

/** @param {HTMLTableCellElement} a @param {HTMLTableCellElement} b */
function compared(a, b) {
  const [left, right] = [a.dataset.value, b.dataset.value];
  if (left === undefined || right === undefined) return worth(a).localeCompare(worth(b), "en", { numeric: true });
  // What is not known comes last, whichever way.
  return (left === "" ? -Infinity : Number(left)) - (right === "" ? -Infinity : Number(right));
}

/** The whole text of a cell, also of one that is folded. @param {HTMLTableCellElement} cell */
function worth(cell) {
  return cell.querySelector("p")?.textContent ?? cell.textContent ?? "";
}

/** @param {HTMLTableElement} table */
function download(table) {
  const quoted = (/** @type {string} */ text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const heads = [...(table.tHead?.rows[0].cells ?? [])].map((head) => head.dataset.name ?? head.textContent ?? "");
  const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden);
  const cells = rows.map((row) => [...row.cells].map((cell) => cell.dataset.value ?? worth(cell)));
  const text = [heads, ...cells].map((line) => line.map(quoted).join(",")).join("\n");
  const address = URL.createObjectURL(new Blob([`${text}\n`], { type: "text/csv" }));
  element("a", { href: address, download: `${table.dataset.name ?? "table"}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
