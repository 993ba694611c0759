// @ts-check
/** The tables of a comparison: the server has written every cell, this puts them in place. */
import { h, icon } from "../dom.js";
import { say } from "../words.js";

/**
 * @param {HTMLElement} table
 * @param {HTMLElement[]} rows
 * @param {string} none
 */
function fill(table, rows, none) {
  const columns = table.querySelectorAll("thead th").length;
  const empty = h("tr", {}, h("td", { class: "none all", colSpan: columns }, none));
  table.querySelector("tbody")?.replaceChildren(...(rows.length ? rows : [empty]));
}

/** @param {HTMLElement} table @param {number} at */
const heading = (table, at) => table.querySelectorAll("thead th")[at]?.textContent ?? "";

/** @param {HTMLElement} table @param {string[]} cells @param {number} from the first one's column */
function numbers(table, cells, from) {
  return cells.map((text, i) => h("td", { class: "n", "data-l": heading(table, from + i) }, h("span", {}, text)));
}

/** @param {HTMLElement} table @param {any[]} rows */
export function showCriteria(table, rows) {
  fill(table, rows.map((row) => h("tr", {},
    h("td", { class: "main" }, row.label),
    h("td", {}, h("span", { class: "badge", "data-v": row.outcome }, icon(row.outcome), row.outcome)),
    ...numbers(table, [row.k, row.n, row.baseline, row.candidate, row.m, row.low, row.high, row.harm_margin, row.pass_margin, row.detectable], 2),
  )), say("noBlocks"));
}

/** @param {HTMLElement} table @param {any[]} rows */
export function showArms(table, rows) {
  fill(table, rows.map((row) => h("tr", {}, h("td", { class: "main" }, row.label), ...numbers(table, [row.baseline, row.candidate, row.change || "–"], 1))), say("noBlocks"));
}

/** @param {HTMLElement} table @param {any[]} rows newest first */
export function showBlocks(table, rows) {
  const tbody = table.querySelector("tbody");
  const newest = rows.length ? `${rows.length}:${rows[0].index}` : "0";
  if (tbody?.dataset.shown === newest) return;
  if (tbody) tbody.dataset.shown = newest;
  fill(table, rows.map((row) => h("tr", row.faults.length ? { title: row.faults.join(" ") } : {},
    h("td", { class: "main" }, `${row.index}`, row.faults.length ? h("span", { class: "sub" }, row.faults.join(" ")) : null),
    h("td", { "data-l": heading(table, 1) }, row.order),
    ...numbers(table, [row.n, ...row.cells], 2),
  )), say("noBlocks"));
}
