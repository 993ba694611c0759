// @ts-check
/** The page of one gateway: frames come in, and the screen is redrawn when it can be. */
import { charts } from "./chart.js";
import { timeTicks } from "./chart/scales.js";
import { h, json, write } from "./dom.js";
import { Figure } from "./figure.js";
import { showDecisions, showLanes, showTenants } from "./gateway/tables.js";
import { shortcut } from "./keys.js";
import { Live } from "./live.js";
import { day, utc } from "./numbers.js";
import { explain } from "./run/decisions.js";
import { showTiles } from "./run/tiles.js";
import { showConnection, showVerdict } from "./run/verdict.js";
import { Table } from "./store.js";
import { say } from "./words.js";

/** @typedef {import("./gateway/tables.js").Decision} Decision */

const $ = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const page = json("panels");
const { socket, frames, page: own } = $("gateway").dataset;
const LISTED = 100;

const cohorts = new Table(page.columns);
/** @type {Record<string, Table>} */
const lanes = Object.fromEntries(page.lanes.map((/** @type {string} */ name) => [name, new Table(page.lane_columns)]));
const figures = page.figures.map((/** @type {any} */ spec) => {
  const element = h("figure", { id: `figure-${spec.id}` });
  $(spec.lane ? "lane-figures" : "figures").append(element);
  return new Figure(element, spec, spec.lane ? lanes[spec.lane] : cohorts, { xText: utc });
});
const budgets = new Table(page.budget_columns);
const budget = page.budget && $("budget-figure") ? budgetFigure() : null;
const seen = { state: "connecting", waitS: 0, moving: true };
/** @type {any} */
let latest = null;
/** @type {Decision[]} the newest first */
let decisions = [];
let due = false;

/** Ticks that its labels can tell apart: they name no seconds. @param {[number, number]} range @param {number} width */
function minutes(range, width) {
  return timeTicks(range, width).filter((at) => at % 60 === 0);
}

/** Weeks on a clock of its own, so it shares no cursor with the minutes below. */
function budgetFigure() {
  const element = h("figure", { id: "figure-budget" });
  $("budget-figure").append(element);
  return new Figure(element, page.budget, budgets, { xText: day, xTicks: minutes, sync: null });
}

/** Rows before what is drawn go. @param {Table} table @param {number} from */
function forget(table, from) {
  const gone = table.t.findIndex((t) => t >= from);
  if (gone <= 0) return;
  [table.t, table.rows, table.steps].forEach((column) => column.splice(0, gone));
}

function redraw() {
  due = false;
  if (!latest) return;
  const { run } = latest;
  const view = { range: /** @type {[number, number]} */ ([run.from, run.until]), warmUp: 0 };
  for (const figure of figures) {
    forget(figure.table, run.from);
    figure.draw(view);
    figure.chart.summarise(latest.summaries[figure.spec.id] ?? "");
  }
  budget?.draw({ range: [budgets.t[0] ?? run.from, Math.max(run.until, budgets.end)], warmUp: 0 });
  budget?.chart.summarise(latest.summaries.budget ?? "");
  showVerdict($("verdict"), latest.verdict, "queued");
  showTiles($("tiles"), latest.tiles);
  showLanes($("lanes"), latest.table);
  showTenants($("tenants"), latest.tenants);
  showDecisions($("decisions"), decisions);
  explain(document.getElementById("inputs-said"), decisions, page.inputs ?? {});
}

/** @param {any} frame */
function apply(frame) {
  if (frame.run.revision !== page.revision && !document.getElementById("secret")) {
    location.assign(own ?? ""); // other versions, arms or lanes: what is drawn once is drawn anew
    return;
  }
  if (frame.full) {
    [cohorts, ...Object.values(lanes)].forEach((table) => table.clear());
    decisions = [];
  }
  cohorts.take(frame.cohorts);
  if (frame.budget) budgets.clear();
  budgets.take(frame.budget);
  for (const [name, part] of Object.entries(frame.lanes)) lanes[name]?.take(part);
  const known = new Set(decisions.map(({ n }) => n));
  decisions = [...frame.decisions.filter((/** @type {Decision} */ one) => !known.has(one.n)), ...decisions].slice(0, LISTED);
  latest = frame;
  seen.moving = frame.seq > 0; // before the first batch nothing can be old
  if (due) return;
  due = true;
  setTimeout(() => requestAnimationFrame(redraw), 50);
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

function togglePause() {
  live.set({ paused: !live.paused });
  write($("pause").querySelector("span"), say(live.paused ? "resume" : "pause"));
}

/** A gateway that fell silent sends no frame that could say so: look now and then. */
function look() {
  if (seen.state === "live" && live.age > 10 && live.seq > 0) live.backfill(true);
}

$("pause").addEventListener("click", togglePause);
shortcut(" ", "keyPause", togglePause);
shortcut("b", "keyTable", () => {
  const open = [...charts.values()].some((chart) => chart.table);
  charts.forEach((chart) => chart.showTable(!open));
});
setInterval(connection, 1000);
setInterval(look, 10_000);
live.start(json("first-frame"), true);
