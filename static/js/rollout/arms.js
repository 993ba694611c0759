// @ts-check
/** Both arms over time: latencies at three percentiles, attainment, and what each was offered. */
import { charts } from "../chart.js";
import { h } from "../dom.js";
import { Figure } from "../figure.js";
import { utc } from "../numbers.js";
import { Table } from "../store.js";
import { say } from "../words.js";

/** @typedef {{step: number, columns: string[], rows: (number | null)[][], marks: Record<string, number>}} Drawn */

const HUES = { candidate: "s2", baseline: "s1" };
/** Solid P99, long dashes P95, dots P50. */
const PERCENTS = ["p99", "p95", "p50"];

/**
 * @param {string} metric
 * @param {Drawn} drawn
 */
function latency(metric, drawn) {
  const most = drawn.marks[metric];
  const series = PERCENTS.flatMap((percent) => Object.entries(HUES).map(([arm, color]) => ({ key: `${arm}_${metric}_${percent}`, label: `${say(arm)} ${percent.toUpperCase()}`, color, dash: percent, d: metric === "tpot" ? 1 : 0 })));
  return { id: metric, title: metric.toUpperCase(), sub: "ms", unit: "ms", source: /** @type {"events"} */ ("events"), series, marks: most == null ? [] : [{ y: most, label: `SLO ≤ ${most} ms` }] };
}

/**
 * @param {string} key
 * @param {Drawn} drawn
 */
function share(key, drawn) {
  const least = drawn.marks[key];
  const shown = key === "attainment";
  const series = Object.entries(HUES).map(([arm, color]) => ({ key: `${arm}_${key}`, label: say(arm), color, dash: arm === "baseline" ? "p95" : undefined, d: shown ? 2 : 1 }));
  return { id: key, title: say(key), sub: say(shown ? "ofOffered" : "aLaneEqual"), unit: shown ? "%" : "/s", source: /** @type {"events"} */ ("events"), series, marks: shown && least != null ? [{ y: least, label: `SLO ≥ ${least} %` }] : [], y: shown ? { max: 100 } : { min: 0 } };
}

export class Arms {
  constructor() {
    /** @type {Table | null} */
    this.table = null;
    /** @type {{figure: Figure, element: HTMLElement}[]} */
    this.figures = [];
  }

  forget() {
    for (const { element } of this.figures) {
      charts.delete(element);
      element.remove();
    }
    this.figures = [];
    this.table = null;
  }

  /**
   * @param {HTMLElement} host
   * @param {Drawn} drawn
   */
  draw(host, drawn) {
    if (this.figures.some(({ element }) => !host.contains(element))) this.forget();
    const table = (this.table ??= new Table(drawn.columns));
    if (!this.figures.length) {
      for (const spec of [latency("ttft", drawn), latency("tpot", drawn), share("attainment", drawn), share("offered", drawn)]) {
        const element = h("figure", { id: `arms-${spec.id}` });
        host.append(element);
        this.figures.push({ element, figure: new Figure(element, spec, table, { xText: utc, sync: "arms", height: 150 }) });
      }
    }
    table.clear();
    table.take({ step: drawn.step, rows: drawn.rows });
    const first = table.t[0] ?? 0;
    for (const { figure } of this.figures) {
      figure.draw({ range: [first, Math.max(first + 60, table.end)], warmUp: 0 });
      figure.chart.summarise(this.sentence(figure.spec.id));
    }
  }

  /** @param {string} id */
  sentence(id) {
    const key = { ttft: "ttft_p99", tpot: "tpot_p99" }[id] ?? id;
    const pair = ["candidate", "baseline"].map((arm) => this.table?.column(`${arm}_${key}`) ?? []);
    const both = pair[0].map((value, i) => [value, pair[1][i]]).filter(([a, b]) => a != null && b != null);
    if (!both.length) return say("noArms");
    const lower = both.filter(([a, b]) => Number(a) < Number(b)).length;
    return say(id === "attainment" || id === "offered" ? "lowerRows" : "lowerP99", { lower, of: both.length });
  }
}
