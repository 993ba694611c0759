// @ts-check
/** The capacity plots: dots are runs, lines are methods; x is the offered load. */
import { Chart } from "./chart.js";
import { nice } from "./chart/scales.js";
import { h, json } from "./dom.js";
import { num } from "./numbers.js";
import { say } from "./words.js";

const page = json("capacity");
const place = /** @type {HTMLElement} */ (document.getElementById("figures"));
const rate = (/** @type {number} */ x) => `${num(x, 1)} /s`;
const ticks = (/** @type {[number, number]} */ [low, high], /** @type {number} */ width) => nice(low, high, Math.max(2, width / 90)).ticks.filter((x) => x >= low && x <= high);

for (const spec of page.figures) {
  const element = h("figure", { id: `figure-${spec.id}` });
  place.append(element);
  const chart = new Chart(element, { title: spec.title, sub: spec.sub, unit: spec.unit, series: spec.series, y: spec.y, height: 260, sync: "capacity", xName: say("load"), xText: rate, axisText: (x) => num(x), xTicks: ticks });
  chart.draw({ x: page.x, columns: spec.columns, weak: spec.series.map(() => null), bands: [], spans: page.spans, range: page.range });
  chart.summarise(spec.said);
}
