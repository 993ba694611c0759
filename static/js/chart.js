// @ts-check
/**
 * The one wrapper round uPlot: caption, one sentence, legend as read-out, plot, table behind it,
 * keyboard cursor, theme. Nothing else on any page draws a chart of its own.
 */
import { behind } from "./chart/behind.js";
import { keyboardCursor } from "./chart/cursor.js";
import { legend } from "./chart/legend.js";
import { makePlot, rows } from "./chart/plot.js";
import { timeTicks } from "./chart/scales.js";
import { h, write } from "./dom.js";
import { clock } from "./numbers.js";
import { onTheme } from "./theme.js";
import { say } from "./words.js";

/**
 * @typedef {{label: string, color: string, dash?: string, width?: number, step?: boolean, bars?: boolean, dots?: boolean, fill?: number, d?: number}} Series
 * @typedef {import("./chart/paint.js").Mark} Mark
 * @typedef {import("./chart/paint.js").Span} Span
 * @typedef {{title: string, sub: string, unit: string, series: Series[], marks: Mark[], y: {min?: number, max?: number}, height: number, sync: string | null, log: boolean, xName: string, xText: (value: number) => string, axisText: (value: number) => string, xTicks: ((range: [number, number], width: number) => number[]), onDraw: (u: any) => void}} Options
 * @typedef {{x: number[], columns: (number | null)[][], weak: (boolean[] | null)[], bands: import("./chart/paint.js").Band[], spans: Span[], range: [number, number], latest?: number, divergence?: import("./chart/paint.js").Divergence | null}} Data
 */

const TABLE_MS = 1000;

/** Every chart of the page, by its figure element. @type {Map<Element, Chart>} */
export const charts = new Map();
onTheme(() => charts.forEach((chart) => chart.build()));

export class Chart {
  /**
   * @param {HTMLElement} figure
   * @param {Partial<Options> & {title: string, series: Series[]}} options
   */
  constructor(figure, options) {
    /** @type {Options} */
    this.options = { sub: "", unit: "", marks: [], y: {}, height: 150, sync: null, log: false, xName: say("time"), xText: clock, axisText: options.xText ?? clock, xTicks: timeTicks, onDraw: () => {}, ...options };
    /** @type {Data} */
    this.data = { x: [], columns: options.series.map(() => []), weak: options.series.map(() => null), bands: [], spans: [], range: [0, 60] };
    this.legend = legend(this.options.series, this.options.unit);
    this.sum = h("p", { class: "fig-sum" });
    this.plot = h("div", { class: "plot", tabindex: "0", role: "group", "aria-roledescription": say("chart").toLowerCase() });
    this.waiting = h("p", { class: "waiting" }, say("nothing"));
    this.toggle = h("button", { class: "link", type: "button", "aria-expanded": "false" }, say("table"));
    this.end = h("span", { class: "end" }, this.toggle);
    /** @type {HTMLElement | null} */
    this.table = null;
    /** @type {number | undefined} a long table is made anew less often than its chart is drawn */
    this.tableSoon = undefined;
    /** @type {any} */
    this.u = null;
    const live = h("p", { class: "sr", "aria-live": "polite" });
    figure.classList.add("fig");
    figure.replaceChildren(h("figcaption", { class: "fig-head" }, h("h3", {}, this.options.title), h("span", { class: "unit" }, this.options.sub), this.end), this.sum, this.legend.element, this.plot, live);
    this.toggle.addEventListener("click", () => this.showTable(!this.table));
    keyboardCursor(this, this.plot, live);
    charts.set(figure, this);
    this.summarise("");
    this.build();
    let width = this.plot.clientWidth;
    new ResizeObserver(() => {
      if (!this.plot.clientWidth || this.plot.clientWidth === width) return;
      width = this.plot.clientWidth;
      this.build();
    }).observe(this.plot);
  }

  /** @param {Data} data */
  draw(data) {
    this.data = data;
    this.waiting.remove();
    if (!data.x.length) this.plot.append(this.waiting);
    this.u.setData(rows(this));
    if (this.u.cursor.left < 0) this.read(null);
    if (this.table) this.tableSoon ??= setTimeout(() => this.refreshTable(), TABLE_MS);
  }

  refreshTable() {
    this.tableSoon = undefined;
    if (this.table) this.showTable(true);
  }

  /** @param {string} text */
  summarise(text) {
    write(this.sum, text);
    this.plot.setAttribute("aria-label", `${this.options.title}. ${text} ${say("arrowKeys")}`);
  }

  /** @param {boolean} on */
  setLog(on) {
    this.options.log = on;
    this.build();
  }

  /** @param {boolean} on */
  showTable(on) {
    const [height, top] = [this.table?.clientHeight || this.plot.clientHeight, this.table?.scrollTop ?? 0];
    this.table?.remove();
    this.table = on ? behind(this, height) : null;
    this.plot.hidden = on;
    if (this.table) {
      this.plot.after(this.table);
      this.table.scrollTop = top;
    }
    write(this.toggle, say(on ? "chart" : "table"));
    this.toggle.setAttribute("aria-expanded", String(on));
  }

  /** @param {number | null} x put the cursor (and those in step with it) there, or take it away */
  point(x) {
    this.u.setCursor(x == null ? { left: -10, top: -10 } : { left: this.u.valToPos(x, "x"), top: 10 }, true, true);
    this.read(this.indexOf(x));
  }

  /** @param {number | null} x */
  indexOf(x) {
    const index = x == null ? -1 : this.data.x.indexOf(x);
    return index < 0 ? null : index;
  }

  /** The first and last row inside the plot. @returns {[number, number]} */
  visible() {
    const { x, range } = this.data;
    const first = x.findIndex((at) => at >= range[0]);
    return [Math.max(0, first), x.length - 1];
  }

  /** @param {number | null | undefined} index */
  read(index) {
    this.legend.read(index, this.data.columns, this.data.weak, this.data.latest);
  }

  build() {
    this.u?.destroy();
    this.u = makePlot(this, this.plot);
    this.read(null);
  }
}
