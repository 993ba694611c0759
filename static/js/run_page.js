// @ts-check
/** The page of one run: frames come in, tables take them, and the screen is redrawn when it can be. */
import { charts } from "./chart.js";
import { h, json, write } from "./dom.js";
import { Figure } from "./figure.js";
import { shortcut } from "./keys.js";
import { Live } from "./live.js";
import { showCrew } from "./run/crew.js";
import { showMixed } from "./run/mixed.js";
import { showFailures, showTenants } from "./run/served.js";
import { showTiles } from "./run/tiles.js";
import { Trace } from "./run/trace.js";
import { showConnection, showProgress, showVerdict } from "./run/verdict.js";
import { Table } from "./store.js";
import { say } from "./words.js";

/** @typedef {import("./live.js").Frame} Frame */

const $ = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const page = json("panels");
const { socket, frames, warmUp, status } = $("run").dataset;
const LIVE = new Set(["queued", "running", "cancelling"]);
const MOST_ROWS = 3600;
const LAST_S = 300;

const events = new Table(page.event_columns);
const cohorts = new Table(page.cohort_columns);
const seen = { status: status ?? "", crew: "", elapsed: 0, duration: 0, state: "connecting", waitS: 0, lastOnly: false, moving: false };
/** @type {Frame | null} the newest, for what is replaced whole */
let latest = null;
let due = false;

/** @typedef {import("./figure.js").Spec} Spec */
/** @type {Spec[]} */
const specs = page.figures;
const figures = specs.filter(({ id }) => id !== "limit").map((spec) => {
  const element = h("figure", { id: `figure-${spec.id}` });
  $("figures").append(element);
  return new Figure(element, spec, spec.source === "events" ? events : cohorts);
});
const trace = new Trace($("trace"), /** @type {Spec} */ (specs.find(({ id }) => id === "limit")), events, page.inputs ?? {});

function view() {
  const measured = Math.max(seen.elapsed, events.end, cohorts.end);
  const end = measured || seen.duration || 60;
  return { range: /** @type {[number, number]} */ ([seen.lastOnly ? Math.max(0, end - LAST_S) : 0, end]), warmUp: Math.min(latest?.run.warm_up_s ?? Number(warmUp ?? 0), measured), ended: !LIVE.has(seen.status) };
}

function redraw() {
  due = false;
  const now = view();
  for (const figure of figures) {
    figure.draw(now);
    const sentence = latest?.summaries?.[figure.spec.id];
    if (sentence != null) figure.chart.summarise(sentence);
  }
  trace.draw(now);
  if (!latest) return;
  showProgress($("verdict"), latest.run);
  showMixed($("mixed"), latest.mixed ?? []);
  if (latest.verdict) showVerdict($("verdict"), latest.verdict, latest.run.status);
  if (latest.tiles) showTiles($("tiles"), latest.tiles);
  if (latest.crew) showCrew(document.getElementById("crew"), latest.crew);
  if (latest.failures) showFailures($("failures"), latest.failures, cohorts.t.length > 0, now.ended);
  if (latest.tenants) showTenants($("tenants"), latest.tenants, latest.tiles?.find(({ id }) => id === "attainment")?.target ?? null, now.ended);
}

/** At most one redraw at a time, however many frames come. */
function soon() {
  if (due) return;
  due = true;
  setTimeout(() => requestAnimationFrame(redraw), latest ? 100 : 0);
}

/** @param {Frame} frame */
function apply(frame) {
  const wider = (frame.events?.rows.length && events.step && frame.events.step !== events.step) || (frame.cohorts?.rows.length && cohorts.step && frame.cohorts.step !== cohorts.step);
  if (frame.full) [events, cohorts].forEach((table) => table.clear());
  events.take(frame.events);
  cohorts.take(frame.cohorts);
  trace.decisions.take(frame.decisions ?? [], frame.full);
  trace.takeShadow(frame.shadow, frame.full);
  const news = /** @type {Frame} */ (Object.fromEntries(Object.entries(frame).filter(([, value]) => value != null)));
  latest = { ...latest, ...news, summaries: { ...latest?.summaries, ...frame.summaries } };
  Object.assign(seen, { elapsed: frame.run.elapsed_s ?? 0, duration: frame.run.duration_s, moving: frame.run.status === "running" });
  if (frame.run.status !== seen.status) {
    seen.status = frame.run.status;
    document.body.dispatchEvent(new CustomEvent("run-status"));
  } else if (seen.crew && frame.run.crew !== seen.crew) document.body.dispatchEvent(new CustomEvent("run-crew"));
  seen.crew = frame.run.crew;
  soon();
  $("pause").hidden = !LIVE.has(frame.run.status);
  if (!LIVE.has(frame.run.status)) live.set({ ended: true });
  else if (!frame.full && (wider || events.t.length > MOST_ROWS || cohorts.t.length > MOST_ROWS)) live.backfill(true);
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

/** @param {boolean} log */
function setLog(log) {
  figures.filter((figure) => figure.spec.scale_toggle).forEach((figure) => figure.chart.setLog(log));
  press("scale", log ? "log" : "linear");
}

/** @param {string} id @param {string} value */
function press(id, value) {
  $(id).querySelectorAll("button").forEach((button) => button.setAttribute("aria-pressed", String(button.value === value)));
}

function togglePause() {
  live.set({ paused: !live.paused });
  write($("pause").querySelector("span"), say(live.paused ? "resume" : "pause"));
}

$("scale").addEventListener("click", (event) => event.target instanceof HTMLButtonElement && setLog(event.target.value === "log"));
$("range").addEventListener("click", (event) => {
  if (!(event.target instanceof HTMLButtonElement)) return;
  seen.lastOnly = event.target.value === "last";
  press("range", event.target.value);
  redraw();
});
$("pause").addEventListener("click", togglePause);
shortcut(" ", "keyPause", togglePause);
shortcut("l", "keyLog", () => setLog(!figures.some((figure) => figure.chart.options.log)));
shortcut("b", "keyTable", () => {
  const open = [...charts.values()].some((chart) => chart.table);
  charts.forEach((chart) => chart.showTable(!open));
});
setInterval(connection, 1000);
live.start(json("first-frame"), LIVE.has(status ?? ""));
redraw();
