// @ts-check
/** The figures of a stored experiment: one dot a seed under each law; what has no seeds is a line. */
import { Chart } from "./chart.js";
import { h, json } from "./dom.js";
import { num } from "./numbers.js";
import { say } from "./words.js";

const page = json("experiment");
const place = /** @type {HTMLElement} */ (document.getElementById("figures"));
/** @type {number[]} */
const x = page.seeds;
const last = x[x.length - 1];
const whole = (/** @type {[number, number]} */ [low, high], /** @type {number} */ width) => {
  const step = Math.max(1, Math.ceil((high - low) / Math.max(2, Math.floor(width / 50))));
  return x.filter((seed, i) => i % step === 0 && seed >= low && seed <= high);
};

/** @type {HTMLElement | null} the figures of one case */
let cells = null;
let named = "";

for (const spec of page.figures) {
  if (!cells || spec.case !== named) {
    named = spec.case;
    cells = h("div", { class: "cells cols-4" });
    place.append(h("h3", { class: "case" }, named), cells);
  }
  const element = h("figure", { id: spec.id });
  cells.append(element);
  const share = spec.unit === "%" && spec.columns.flat().every((/** @type {number | null} */ v) => v == null || v <= 100);
  const y = share ? { min: 0, max: 100 } : { min: 0 };
  const chart = new Chart(element, { title: spec.title, sub: spec.sub, unit: spec.unit, series: spec.series, y, sync: "experiment", xName: say("seed"), xText: (at) => `${say("seed")} ${num(at)}`, axisText: (at) => num(at), xTicks: whole });
  chart.draw({ x, columns: spec.columns, weak: spec.columns.map(() => null), bands: [], spans: [], range: [x[0] - 0.5, last + 0.5] });
  chart.summarise(spec.said);
}
