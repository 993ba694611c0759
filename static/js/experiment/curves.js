// @ts-check
/** What changes along a run, a day or a sweep: a line a law, with a ribbon from the lowest seed to the highest. */
import { Chart } from "../chart.js";
import { clock, num } from "../numbers.js";
import { say } from "../words.js";
import { byCase } from "./by_case.js";

/** @typedef {{id: string, case: string, title: string, unit: string, along: string, x: number[], series: import("../chart.js").Series[], columns: (number | null)[][], bands: import("../chart/paint.js").Band[], spans: import("../chart/paint.js").Span[], said: string}} Curve */

/** Ticks at points of a short axis, as many as fit. @param {number[]} x */
const atPoints = (x) => (/** @type {[number, number]} */ [low, high], /** @type {number} */ width) => {
  const inside = x.filter((at) => at >= low && at <= high);
  const step = Math.ceil(inside.length / Math.max(2, Math.floor(width / 40)));
  return inside.filter((at, i) => i % step === 0);
};

/**
 * @param {HTMLElement} place
 * @param {Curve[]} curves
 */
export function drawCurves(place, curves) {
  byCase(place, curves, 3, (element, spec) => {
    const { x, along, unit } = spec;
    const timed = along === "s";
    const values = [...spec.columns, ...spec.bands.flatMap((band) => [band.low, band.high])].flat();
    const share = unit === "%" && values.every((v) => v == null || v <= 100);
    const axis = timed ? {} : { xName: along, xText: (/** @type {number} */ at) => `${along} ${num(at)}`, axisText: (/** @type {number} */ at) => num(at), xTicks: atPoints(x) };
    const chart = new Chart(element, { title: spec.title, sub: `${unit} · ${say(timed ? "overTime" : "by", { along })}`, unit, series: spec.series, y: share ? { min: 0, max: 100 } : { min: 0 }, sync: `curves ${spec.case}`, ...(timed ? { xText: clock } : axis) });
    const edge = timed ? 0 : 0.5;
    chart.draw({ x, columns: spec.columns, weak: spec.columns.map(() => null), bands: spec.bands, spans: spec.spans, range: [x[0] - edge, x[x.length - 1] + edge] });
    chart.summarise(spec.said);
  });
}
