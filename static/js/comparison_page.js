// @ts-check
/** The page of one comparison: frames come in, tables and pictures are redrawn when they can be. */
import { Chart } from "./chart.js";
import { nice } from "./chart/scales.js";
import { drawBlocks } from "./comparison/blocks.js";
import { showArms, showBlocks, showCriteria } from "./comparison/tables.js";
import { h, json } from "./dom.js";
import { Live } from "./live.js";
import { num } from "./numbers.js";
import { showConnection, showProgress, showVerdict } from "./run/verdict.js";
import { say } from "./words.js";

const $ = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const { socket, frames, status } = $("comparison").dataset;
const LIVE = new Set(["queued", "running", "cancelling"]);

/** @typedef {[number, number, number, number | null, number | null, boolean]} Point block, D, m, low, high, look */
/** @typedef {{name: string, label: string, pass_margin: number, harm_margin: number, blocks: number}} Spec */

/** @type {Map<number, any>} */
const blocks = new Map();
const seen = { status: status ?? "", state: "connecting", waitS: 0, moving: false };
/** @type {any} */
let latest = null;
let due = false;

/** @type {Spec[]} */
const specs = json("figures-spec");
const figures = specs.map((spec) => {
  const element = h("figure", { id: `figure-${spec.name}` });
  $("figures").append(element);
  /** @type {Map<number, Point>} */
  const points = new Map();
  const xTicks = (/** @type {[number, number]} */ [low, high], /** @type {number} */ width) => nice(low, high, Math.max(2, width / 80)).ticks.filter((x) => Number.isInteger(x) && x >= low && x <= high);
  const chart = new Chart(element, {
    title: spec.label, sub: say("gapOfBlocks"), unit: say("points"), height: 220, xName: say("block"), xText: (x) => num(x), axisText: (x) => num(x), xTicks, sync: "comparison",
    marks: [{ y: spec.pass_margin, label: say("passUnder", { v: num(spec.pass_margin, 2) }) }, { y: spec.harm_margin, label: say("harmAbove", { v: num(spec.harm_margin, 2) }) }],
    series: [{ label: say("meanGap"), color: "s2", d: 2 }, { label: say("blockGap"), color: "s0", d: 2, width: 0.01 }],
    onDraw: (u) => drawBlocks(u, [...points.values()]),
  });
  return { spec, chart, points };
});

function redraw() {
  due = false;
  for (const { spec, chart, points } of figures) {
    const rows = [...points.values()].sort((a, b) => a[0] - b[0]);
    const column = (/** @type {number} */ at) => rows.map((row) => /** @type {number | null} */ (row[at]));
    chart.draw({ x: rows.map((row) => row[0]), columns: [column(2), column(1)], weak: [null, null], bands: [{ low: column(3), high: column(4), color: "s2" }], spans: [], range: [0, Math.max(1, spec.blocks - 1)] });
    const last = rows[rows.length - 1];
    if (last) chart.summarise(say(last[3] == null || last[4] == null ? "gapSoFar" : "gapSaid", { m: num(last[2], 2), low: num(last[3], 2), high: num(last[4], 2), k: rows.length, of: spec.blocks }));
  }
  if (!latest) return;
  const { left_s: left, status: now } = latest.run;
  showProgress($("verdict"), { ...latest.run, left_s: left ?? 0, status: left == null ? "" : now });
  showVerdict($("verdict"), latest.verdict, latest.run.status);
  showCriteria($("criteria"), latest.criteria);
  showArms($("arms"), latest.arms);
  showBlocks($("blocks"), [...blocks.values()].sort((a, b) => b.index - a.index));
}

/** At most one redraw at a time, however many frames come. */
function soon() {
  if (due) return;
  due = true;
  setTimeout(() => requestAnimationFrame(redraw), latest ? 100 : 0);
}

/** @param {any} frame */
function apply(frame) {
  if (frame.full) {
    blocks.clear();
    figures.forEach(({ points }) => points.clear());
  }
  for (const block of frame.blocks) blocks.set(block.index, block);
  for (const { spec, points } of figures) for (const row of frame.courses[spec.name] ?? []) points.set(row[0], row);
  latest = frame;
  seen.moving = frame.run.status === "running";
  if (frame.run.status !== seen.status) {
    seen.status = frame.run.status;
    document.body.dispatchEvent(new CustomEvent("run-status"));
  }
  soon();
  if (!LIVE.has(frame.run.status)) live.set({ ended: true });
}

const scheme = location.protocol === "https:" ? "wss:" : "ws:";
const live = new Live({
  socket: `${scheme}//${location.host}${socket}`,
  frames: frames ?? "",
  apply,
  state(state, waitS = 0) {
    Object.assign(seen, { state, waitS });
    connection();
  },
});

function connection() {
  showConnection($("verdict"), { ...seen, age: live?.age ?? 0 });
}

setInterval(connection, 1000);
live.start(json("first-frame"), LIVE.has(status ?? ""));
redraw();
