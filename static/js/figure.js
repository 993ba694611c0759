// @ts-check
/** A panel's spec (from the server) and the page's tables become a chart that can be redrawn. */
import { Chart } from "./chart.js";
import { say } from "./words.js";

/**
 * @typedef {{active: string, shadow: string, within: number, color: string}} DivergenceSpec keys of two columns, and the share of the active one by which they may differ
 * @typedef {import("./store.js").Table} Table
 * @typedef {{key: string, label: string, color: string, dash?: string, step?: boolean, fill?: number, d?: number, grey_under_n?: number}} SeriesSpec
 * @typedef {{y: number, label: string, bad?: "above" | "below"}} MarkSpec
 * @typedef {{id: string, title: string, sub: string, unit: string, source: "events" | "cohorts", series: SeriesSpec[], marks?: MarkSpec[], bands?: {low: string, high: string, color: string}[], y?: {min?: number, max?: number}, scale_toggle?: boolean, divergence?: DivergenceSpec | null}} Spec
 * @typedef {{range: [number, number], warmUp: number}} View
 */

/**
 * The side of a limit that misses: said by the server, else read from its own words.
 * @param {MarkSpec} mark
 */
export function side(mark) {
  if (mark.bad) return mark.bad;
  if (/≥|>/.test(mark.label)) return "below";
  return /≤|</.test(mark.label) ? "above" : null;
}

export class Figure {
  /**
   * @param {HTMLElement} element
   * @param {Spec} spec
   * @param {Table} table
   * @param {Partial<import("./chart.js").Options>} [more]
   */
  constructor(element, spec, table, more = {}) {
    this.spec = spec;
    this.table = table;
    const marks = (spec.marks ?? []).map((mark) => ({ y: mark.y, label: mark.label, side: side(mark) }));
    this.chart = new Chart(element, { title: spec.title, sub: spec.sub, unit: spec.unit, series: spec.series, marks, y: { ...spec.y }, sync: "run", ...more });
  }

  /** @param {View} view */
  draw({ range, warmUp }) {
    const { spec, table } = this;
    const columns = spec.series.map((one) => table.column(one.key));
    const n = table.column("n");
    const weak = spec.series.map((one) => {
      const least = one.grey_under_n;
      return least == null ? null : n.map((count) => count != null && count < least);
    });
    const bands = (spec.bands ?? []).map((band) => ({ low: table.column(band.low), high: table.column(band.high), color: band.color }));
    this.chart.draw({ x: table.t.slice(), columns, weak, bands, divergence: this.divergence(), spans: this.spans(columns, warmUp), range, latest: this.latest() });
  }

  /** The area between the two lines, wherever they differ by more than they may. */
  divergence() {
    const spec = this.spec.divergence;
    if (!spec) return null;
    const active = this.table.column(spec.active);
    const shadow = this.table.column(spec.shadow);
    const apart = active.map((value, i) => {
      const other = shadow[i];
      return value != null && other != null && Math.abs(value - other) > spec.within * value ? [Math.min(value, other), Math.max(value, other)] : [null, null];
    });
    return { lower: apart.map(([low]) => low), upper: apart.map(([, high]) => high), color: spec.color };
  }

  /** The newest row that will not change: a cohort is still open while an answer of it is out. */
  latest() {
    const { spec, table } = this;
    return spec.source === "cohorts" ? table.column("open").findLastIndex((open) => !open) : table.t.length - 1;
  }

  /**
   * @param {(number | null)[][]} columns
   * @param {number} warmUp
   * @returns {import("./chart/paint.js").Span[]}
   */
  spans(columns, warmUp) {
    /** @type {import("./chart/paint.js").Span[]} */
    const spans = this.table.gaps(columns).map((gap) => ({ ...gap, kind: "gap", label: say("noData") }));
    if (warmUp > 0) spans.push({ from: 0, to: warmUp, kind: "warm" });
    const open = this.table.column("open");
    const first = this.spec.source === "cohorts" ? open.findIndex(Boolean) : -1;
    if (first >= 0) spans.push({ from: this.table.t[first], to: this.table.end, kind: "open" });
    return spans;
  }
}
