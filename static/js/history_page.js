// @ts-check
/** A history: one point a run, in order; where a level changed, the step line moves. */
import { Chart } from "./chart.js";
import { h, json } from "./dom.js";
import { say } from "./words.js";

const page = json("history");
const place = /** @type {HTMLElement} */ (document.getElementById("figures"));
/** @type {string[]} */
const labels = page.labels;
const last = labels.length - 1;
const at = (/** @type {number} */ x) => labels[Math.round(x)] ?? "";
const day = (/** @type {number} */ x) => at(x).slice(5, 10);

/** @param {[number, number]} range @param {number} width */
function ticks([low, high], width) {
  const step = Math.max(1, Math.ceil((high - low) / Math.max(2, Math.floor(width / 70))));
  return labels.map((_, i) => i).filter((i) => i % step === 0 && i >= low && i <= high);
}

for (const spec of page?.figures ?? []) {
  const element = h("figure", { id: `figure-${spec.id}` });
  place.append(element);
  const chart = new Chart(element, { title: spec.title, sub: spec.sub, unit: spec.unit, series: spec.series, y: spec.y, sync: "history", xName: say("run"), xText: at, axisText: day, xTicks: ticks });
  const x = labels.map((_, i) => i);
  chart.draw({ x, columns: spec.columns, weak: [...spec.weak, null], bands: [], spans: [], range: [-0.5, Math.max(1, last) + 0.5] });
  chart.summarise(spec.said);
}
