// @ts-check
/** The numbers that a canary's verdict rests on, one row a criterion. */
import { h, icon } from "../dom.js";

/** @typedef {{name: string, tone: string, word: string, candidate: string, candidate_n: string, baseline: string, baseline_n: string, m: string, band: string, margin: string, pooled: string, e: string, detectable: string}} Row */

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
      const cells = [[row.candidate, row.candidate_n], [row.baseline, row.baseline_n], [row.m], [row.band, row.margin], [row.pooled], [row.e], [row.detectable]];
      const written = cells.map(([text, sub], i) => h("td", { class: "n", "data-l": heads[i + 2] }, h("span", {}, text, ...(sub ? [h("span", { class: "sub" }, sub)] : []))));
      return h("tr", {}, h("td", { class: "main" }, row.name), h("td", {}, badge), ...written);
    }),
  );
}
