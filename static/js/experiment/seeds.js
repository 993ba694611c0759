// @ts-check
/** One dot a seed under each law; what has no seeds is a line. */
import { Chart } from "../chart.js";
import { num } from "../numbers.js";
import { say } from "../words.js";
import { byCase } from "./by_case.js";

/** @typedef {{id: string, case: string, title: string, sub: string, unit: string, series: import("../chart.js").Series[], columns: (number | null)[][], said: string}} Dots */

/** As many seeds as fit. @param {number[]} seeds */
const whole = (seeds) => (/** @type {[number, number]} */ [low, high], /** @type {number} */ width) => {
  const step = Math.max(1, Math.ceil((high - low) / Math.max(2, Math.floor(width / 50))));
  return seeds.filter((seed, i) => i % step === 0 && seed >= low && seed <= high);
};

/**
 * @param {HTMLElement} place
 * @param {Dots[]} figures
 * @param {number[]} x the seeds
 */
export function drawSeeds(place, figures, x) {
  byCase(place, figures, 4, (element, spec) => {
    const share = spec.unit === "%" && spec.columns.flat().every((v) => v == null || v <= 100);
    const y = share ? { min: 0, max: 100 } : { min: 0 };
    const chart = new Chart(element, { title: spec.title, sub: spec.sub, unit: spec.unit, series: spec.series, y, sync: "experiment", xName: say("seed"), xText: (at) => `${say("seed")} ${num(at)}`, axisText: (at) => num(at), xTicks: whole(x) });
    chart.draw({ x, columns: spec.columns, weak: spec.columns.map(() => null), bands: [], spans: [], range: [x[0] - 0.5, x[x.length - 1] + 0.5] });
    chart.summarise(spec.said);
  });
}
