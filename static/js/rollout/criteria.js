// @ts-check
/** The numbers that a canary's verdict rests on, one row a criterion. */
import { h, icon } from "../dom.js";

/** @typedef {{name: string, tone: string, word: string, candidate: string, baseline: string, n: string, m: string, band: string, margin: string, pooled: number, e: string, detectable: string}} Row */

/**
 * @param {HTMLElement} table
 * @param {Row[]} rows
 */
export function showCriteria(table, rows) {
  const body = table.querySelector("tbody");
  if (!body || !rows.length) return;
  const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent ?? "");
  body.replaceChildren(
    ...rows.map((row) => {
      const badge = h("span", { class: "badge", "data-v": row.tone }, icon(row.tone, 12), row.word);
      const cells = [row.candidate, row.baseline, row.n, row.m, row.band, row.margin, String(row.pooled), row.e, row.detectable];
      return h("tr", {}, h("td", { class: "main" }, row.name), h("td", {}, badge), ...cells.map((text, i) => h("td", { class: "n", "data-l": heads[i + 2] }, text)));
    }),
  );
}
