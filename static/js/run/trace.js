// @ts-check
/** The controller trace: the limit as a step line, its events, and the inputs behind them. */
import { Chart } from "../chart.js";
import { write } from "../dom.js";
import { Figure } from "../figure.js";
import { num } from "../numbers.js";
import { say } from "../words.js";
import { Decisions, explain, kind, listDecisions, select } from "./decisions.js";
import { drawLane, walkLane } from "./lane.js";

/** @typedef {import("./decisions.js").Decision} Decision */

/** Inputs that are drawn: latencies in seconds, one axis. @param {string} name */
const isLatency = (name) => /(_s|_ms|latency|rtt|baseline|current|median|short|long)$/.test(name) && !/samples|count|age/.test(name);

export class Trace {
  /**
   * @param {HTMLElement} root
   * @param {import("../figure.js").Spec} spec of the limit
   * @param {import("../store.js").Table} events
   * @param {Record<string, string>} meanings of inputs
   */
  constructor(root, spec, events, meanings) {
    this.meanings = meanings;
    this.events = events;
    this.decisions = new Decisions();
    this.shadow = new Decisions();
    this.shadowed = Boolean(spec.divergence);
    this.said = document.getElementById("shadow-said");
    this.body = /** @type {HTMLElement} */ (root.querySelector("tbody"));
    this.lane = /** @type {HTMLElement} */ (root.querySelector(".lane"));
    this.inputs = /** @type {HTMLElement} */ (root.querySelector("#trace-inputs"));
    /** @type {string} */
    this.inputsKey = "";
    /** @type {Chart | null} */
    this.inputChart = null;
    this.choose = this.choose.bind(this);
    const element = /** @type {HTMLElement} */ (root.querySelector("#trace-limit"));
    this.figure = new Figure(element, spec, events, { height: 190, onDraw: (u) => queueMicrotask(() => this.drawLane(u)) });
    walkLane(this.lane);
  }

  /** @param {any} u */
  drawLane(u) {
    if (this.figure.chart.u === u && u.over.isConnected) drawLane(this.lane, u, this.rows(), this.choose);
  }

  rows() {
    const policy = { name: "policy", list: this.decisions.list };
    return this.shadowed ? [policy, { name: "shadow", list: this.shadow.list }] : [policy];
  }

  /** @param {{decisions: Decision[], said: string[]} | null | undefined} told of a frame @param {boolean} [anew] */
  takeShadow(told, anew = false) {
    if (!told) return;
    this.shadow.take(told.decisions.map((decision) => ({ ...decision, shadow: true })), anew);
    write(this.said, told.said.join(" "));
  }

  /** @param {Decision} decision */
  choose(decision) {
    const t = this.events.t.filter((at) => at <= decision.at).pop();
    if (t != null) this.figure.chart.point(t);
    select(this.body, decision);
  }

  /** @param {import("../figure.js").View & {ended: boolean}} view */
  draw(view) {
    this.figure.draw(view);
    const said = this.decisions.sentence(view.ended);
    this.figure.chart.summarise(said);
    const shadowed = this.shadowed ? this.shadow.list : [];
    const all = [...this.decisions.list, ...this.decisions.others, ...shadowed].sort((a, b) => a.at - b.at);
    listDecisions(this.body, all, this.choose, said);
    explain(document.getElementById("inputs-said"), all, this.meanings);
    this.drawInputs(view.range);
  }

  /** @param {[number, number]} range */
  drawInputs(range) {
    const { list } = this.decisions;
    const names = [...new Set(list.flatMap((decision) => Object.keys(decision.inputs ?? {})))].filter(isLatency).slice(0, 3);
    this.inputs.hidden = names.length === 0;
    if (!names.length) return;
    const key = names.join();
    if (this.inputsKey !== key) {
      this.inputsKey = key;
      const words = this.inputs.dataset;
      const looks = [{ color: "s1" }, { color: "s2", dash: "p95", step: true }, { color: "s3", dash: "p50" }];
      this.inputChart = new Chart(this.inputs, { title: words.title ?? "", sub: words.sub ?? "", unit: names[0].endsWith("_ms") ? "ms" : "s", height: 120, sync: "run", series: names.map((name, i) => ({ label: name, d: 3, ...looks[i] })) });
    }
    /** @type {Map<number, Decision>} */
    const byTime = new Map(list.map((decision) => [decision.at, decision]));
    const rows = [...byTime.values()];
    const columns = names.map((name) => rows.map((decision) => decision.inputs?.[name] ?? null));
    this.inputChart?.draw({ x: rows.map(({ at }) => at), columns, weak: names.map(() => null), bands: [], spans: [], range });
    const last = rows[rows.length - 1];
    this.inputChart?.summarise(last ? say(kind(last) === "hold" ? "traceHeld" : "traceMoved", { reason: last.reason, before: num(last.before), after: num(last.after) }) : "");
  }
}
