// @ts-check
/** How each worker's own client is, second by second: the table's rows are the server's. */
import { h, write } from "../dom.js";
import { spark } from "../gauges.js";

/** @typedef {{state: string, cpu: string, lag: string, cpu_course: (number | null)[], lag_course: (number | null)[]}} Worker */

/** @param {Element | null} cell @param {string} words @param {(number | null)[]} course */
function show(cell, words, course) {
  if (!cell || (cell.textContent === words && !course.length)) return;
  cell.replaceChildren(h("span", { class: "with-spark" }, ...(course.length > 1 ? [spark(course)] : []), h("span", {}, words)));
}

/** @param {HTMLElement | null} section @param {Worker[]} workers in the order of its rows */
export function showCrew(section, workers) {
  const rows = [...(section?.querySelectorAll("tbody tr[data-worker]") ?? [])];
  if (rows.length !== workers.length) return; // the server draws them anew when one joins or is lost
  rows.forEach((row, i) => {
    write(row.querySelector('[data-part="state"]'), workers[i].state);
    show(row.querySelector('[data-part="cpu"]'), workers[i].cpu, workers[i].cpu_course);
    show(row.querySelector('[data-part="lag"]'), workers[i].lag, workers[i].lag_course);
  });
}
