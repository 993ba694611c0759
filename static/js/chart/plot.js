// @ts-check
/** How a chart's options become a uPlot. */
import { num } from "../numbers.js";
import { color } from "../theme.js";
import { DASHES, widthOf } from "./legend.js";
import { font, paintOver, paintUnder, plotOf } from "./paint.js";
import { extent, tickDigits, valueAxis } from "./scales.js";

/** @typedef {import("../chart.js").Chart} Chart */

const uPlot = /** @type {any} */ (globalThis).uPlot;
const AXIS = 52;

/**
 * The rows as uPlot wants them: x, the lines with few samples in grey, then every line.
 * @param {Chart} chart
 * @returns {any[]}
 */
export function rows({ data: { x, columns, weak }, options: { log } }) {
  const shown = log ? columns.map((column) => column.map((v) => (v != null && v > 0 ? v : null))) : columns;
  const grey = shown.map((column, i) => {
    const few = weak[i];
    return few ? column.map((v, k) => (few[k] || few[k - 1] || few[k + 1] ? v : null)) : column.map(() => null);
  });
  const full = shown.map((column, i) => {
    const few = weak[i];
    return few ? column.map((v, k) => (few[k] ? null : v)) : column;
  });
  return [x, ...grey, ...full];
}

/** @param {Chart} chart */
function valueTicks({ data, options: { marks, y, log, height } }) {
  const columns = log ? data.columns.map((column) => column.map((v) => (v != null && v > 0 ? v : null))) : data.columns;
  const bands = data.bands.flatMap((band) => [band.low, band.high]);
  const limits = y.max == null ? marks.map((mark) => mark.y) : [];
  return valueAxis(extent([...columns, ...bands], limits), y, log, height < 140 ? 3 : 4);
}

/**
 * Rows with nothing on either side, which a line alone would not show.
 * @param {any} u
 * @param {number} index of the series
 */
function lone(u, index) {
  const column = u.data[index];
  const found = [];
  for (let i = 0; i < column.length; i++) if (column[i] != null && column[i - 1] == null && column[i + 1] == null) found.push(i);
  return found;
}

/**
 * @param {Chart} chart
 * @param {boolean} grey
 */
function lines(chart, grey) {
  return chart.options.series.map((one) => {
    const kind = one.dash ?? "none";
    const ink = color(grey ? "s0" : one.color);
    const paths = one.dots ? () => null : one.bars ? uPlot.paths.bars({ size: [0.9, 60], align: 1 }) : one.step ? uPlot.paths.stepped({ align: 1 }) : undefined;
    return {
      stroke: ink,
      width: grey ? 1.5 : widthOf(one),
      dash: DASHES[kind],
      fill: one.fill && !grey ? color(one.color, one.fill) : undefined,
      spanGaps: false,
      paths,
      points: one.dots ? { show: true, size: 8, width: 0, fill: ink } : { show: false, size: 4, width: 0, fill: ink, filter: one.bars ? () => [] : lone },
    };
  });
}

/**
 * @param {Chart} chart
 * @param {HTMLElement} host
 */
export function makePlot(chart, host) {
  const { options } = chart;
  const width = host.clientWidth || 320;
  const ink = color("ink-3");
  const axis = { stroke: ink, font: font(1), ticks: { show: false } };
  const log = options.log;
  const range = () => {
    const { low, high } = valueTicks(chart);
    return [low, high];
  };
  // Half of the last label's width, so that it isn't cut at the edge.
  const roomForLast = () => {
    const last = options.xTicks(chart.data.range, width).at(-1);
    return Math.max(18, last == null ? 0 : options.axisText(last).length * 3 + 4);
  };
  const withUnit = (/** @type {any} */ _u, /** @type {number[]} */ ticks) =>
    ticks.map((value, i) => num(value, tickDigits(value)) + (i === ticks.length - 1 && options.unit ? ` ${options.unit}` : ""));
  return new uPlot(
    {
      width,
      height: options.height,
      padding: [10, roomForLast, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: false, y: false, setScale: false },
        sync: options.sync ? { key: options.sync, scales: ["x", null] } : undefined,
        points: { size: 6, width: 1.5, show: (/** @type {any} */ u, /** @type {number} */ i) => cursorPoint(u, i) },
      },
      scales: { x: { time: false, range: () => chart.data.range }, y: log ? { distr: 3, range } : { range } },
      axes: [
        { ...axis, size: 22, gap: 5, grid: { show: false }, splits: () => options.xTicks(chart.data.range, width), filter: (/** @type {any} */ _u, /** @type {number[]} */ v) => v, values: (/** @type {any} */ _u, /** @type {number[]} */ v) => v.map(options.axisText) },
        { ...axis, gap: 6, grid: { stroke: color("grid"), width: 1 }, size: (/** @type {any} */ _u, /** @type {string[] | null} */ v) => Math.max(AXIS, ...(v ?? []).map((text) => text.length * 6 + 14)), splits: () => valueTicks(chart).ticks, filter: (/** @type {any} */ _u, /** @type {number[]} */ v) => v, values: withUnit },
      ],
      series: [{}, ...lines(chart, true), ...lines(chart, false)],
      hooks: {
        drawAxes: [(/** @type {any} */ u) => paintUnder(plotOf(u), { ...chart.data, marks: options.marks })],
        draw: [
          (/** @type {any} */ u) => {
            paintOver(plotOf(u), { ...chart.data, marks: options.marks });
            options.onDraw(u);
          },
        ],
        setCursor: [(/** @type {any} */ u) => chart.read(u.cursor.left < 0 ? null : u.cursor.idx)],
      },
    },
    rows(chart),
    host,
  );
}

/**
 * @param {any} u
 * @param {number} index
 */
function cursorPoint(u, index) {
  const point = document.createElement("div");
  point.style.background = u.series[index].stroke?.(u, index) ?? "";
  return point;
}
