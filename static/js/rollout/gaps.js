// @ts-check
/** D block by block: dots, their mean, and the band that harm and pass are read from. */
import { Chart, charts } from "../chart.js";
import { nice } from "../chart/scales.js";
import { drawBlocks } from "../comparison/blocks.js";
import { h } from "../dom.js";
import { num } from "../numbers.js";
import { say } from "../words.js";

/** @typedef {[number, number, number, number | null, number | null]} Row k, D, m, low, high */
/** @typedef {{name: string, title: string, harm: number, pass: number, least: number, rows: Row[], sentence: string}} Gap */

const ROOM = 4;

export class Gaps {
  constructor() {
    /** @type {Map<string, {chart: Chart, points: Row[], element: HTMLElement}>} */
    this.figures = new Map();
  }

  /** Another canary is shown from now on. */
  forget() {
    for (const { element } of this.figures.values()) {
      charts.delete(element);
      element.remove();
    }
    this.figures.clear();
  }

  /**
   * @param {HTMLElement} host
   * @param {Gap[]} gaps
   */
  draw(host, gaps) {
    if ([...this.figures.values()].some(({ element }) => !host.contains(element))) this.forget();
    for (const gap of gaps) {
      const { chart, element } = this.figures.get(gap.name) ?? this.make(host, gap);
      const held = /** @type {{chart: Chart, points: Row[], element: HTMLElement}} */ (this.figures.get(gap.name));
      held.points = gap.rows;
      const column = (/** @type {number} */ at) => gap.rows.map((row) => /** @type {number | null} */ (row[at]));
      const last = gap.rows.at(-1)?.[0] ?? 0;
      const end = Math.max(gap.least, last) + ROOM;
      const young = { from: 0, to: Math.min(gap.least, end), kind: /** @type {"warm"} */ ("warm"), label: say("noPassBefore", { k: gap.least }) };
      chart.draw({ x: column(0).map(Number), columns: [column(2), column(1)], weak: [null, null], bands: [{ low: column(3), high: column(4), color: "s1" }], spans: [young], range: [0, end] });
      chart.summarise(gap.sentence);
      element.hidden = false;
    }
  }

  /**
   * @param {HTMLElement} host
   * @param {Gap} gap
   */
  make(host, gap) {
    const element = h("figure", { id: `gap-${gap.name}` });
    host.append(element);
    const xTicks = (/** @type {[number, number]} */ [low, high], /** @type {number} */ width) => nice(low, high, Math.max(2, width / 90)).ticks.filter((x) => x >= low && x <= high);
    const chart = new Chart(element, {
      title: gap.title, sub: say("pointsOfOffered"), unit: say("pt"), height: 210, xName: say("block"), xText: (x) => num(x), axisText: (x) => num(x), xTicks, sync: "gaps",
      marks: [{ y: gap.harm, label: say("harmAbove", { v: num(gap.harm, 1) }), side: "above" }, { y: gap.pass, label: say("passUnder", { v: num(gap.pass, 1) }) }],
      series: [{ label: say("meanGap"), color: "s1", d: 2, width: 2.25 }, { label: say("blockGap"), color: "s0", d: 2, width: 0.01 }],
      onDraw: (u) => drawBlocks(u, (this.figures.get(gap.name)?.points ?? []).map(([k, d, m, low, high]) => [k, d, m, low, high, false])),
    });
    const made = { chart, points: gap.rows, element };
    this.figures.set(gap.name, made);
    return made;
  }
}
