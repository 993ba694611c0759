// @ts-check
/**
 * The page of one rollout. Frames hold the whole of what is drawn; what people decide on is served
 * as HTML, and fetched anew when the rollout has taken a step.
 */
import { charts } from "./chart.js";
import { json, write } from "./dom.js";
import { shortcut } from "./keys.js";
import { Live } from "./live.js";
import { Arms } from "./rollout/arms.js";
import { showCriteria } from "./rollout/criteria.js";
import { Gaps } from "./rollout/gaps.js";
import { showConnection, showVerdict } from "./run/verdict.js";
import { say } from "./words.js";

const $ = (/** @type {string} */ id) => document.getElementById(id);
const root = /** @type {HTMLElement} */ ($("rollout"));
const bar = /** @type {HTMLElement} */ ($("verdict"));
const { socket, frames, status, page } = root.dataset;
const ENDED = new Set(["done", "rolled_back", "aborted"]);
const PARTS = ["parts-steps", "parts-canary", "parts-arms", "parts-side", "parts-events", "parts-edit", "parts-dialog", "verdict-end"];
/** The shape of an icon by phase. @type {Record<string, string>} */
const SHAPES = { draft: "none", waiting: "wait", running: "run", held: "warn", done: "pass", rolled_back: "fail", aborted: "cancelled" };

const seen = { status: status ?? "", seq: -1, stage: "", state: "connecting", waitS: 0, moving: true };
/** @type {any} */
let latest = null;
let due = false;
let stale = false;
const gaps = new Gaps();
const arms = new Arms();

function redraw() {
  due = false;
  if (!latest) return;
  showVerdict(bar, latest.verdict, SHAPES[latest.run.status] ?? "none");
  const { canary } = latest;
  if (!canary || !$("gaps")) return;
  if (canary.stage !== seen.stage) [gaps, arms].forEach((part) => part.forget());
  seen.stage = canary.stage;
  gaps.draw(/** @type {HTMLElement} */ ($("gaps")), canary.gaps);
  arms.draw(/** @type {HTMLElement} */ ($("arms")), canary.arms);
  showCriteria(/** @type {HTMLElement} */ ($("criteria")), canary.rows);
  const { n, k } = canary;
  if (n) write($("counted"), say("countedBlocks", { k, candidate: n.candidate.toLocaleString("en"), baseline: n.baseline.toLocaleString("en") }));
}

function soon() {
  if (due) return;
  due = true;
  setTimeout(() => requestAnimationFrame(redraw), 50);
}

/** Somebody is typing or deciding: their words are not swept away. */
function busy() {
  const side = $("parts-side");
  const typed = [...(side?.querySelectorAll("textarea, input[type=password]") ?? [])].some((field) => /** @type {HTMLInputElement} */ (field).value);
  return typed || document.querySelector("dialog[open]") != null;
}

/** The parts that a step changes, as the server writes them now. */
async function refresh() {
  if (busy()) {
    stale = true;
    return;
  }
  stale = false;
  try {
    const answer = await fetch(page ?? "", { credentials: "same-origin" });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const id of PARTS) {
      const [old, now] = [$(id), fresh.getElementById(id)];
      if (old?.querySelector("#gaps, #arms") && now?.querySelector("#gaps, #arms")) continue;
      if (old && now) old.replaceChildren(...[...now.childNodes].map((node) => document.importNode(node, true)));
      else if (old && id === "parts-dialog") old.replaceChildren();
    }
    document.title = fresh.title;
    soon();
    connection();
  } catch {
    stale = true;
  }
}

/** @param {any} frame */
function apply(frame) {
  const moved = seen.seq >= 0 && frame.seq !== seen.seq;
  latest = frame;
  seen.seq = frame.seq;
  seen.status = frame.run.status;
  seen.moving = frame.run.status === "running";
  soon();
  if (moved || (frame.canary && !$("gaps"))) refresh();
  if (ENDED.has(frame.run.status)) live.set({ ended: true });
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
  showConnection(bar, { ...seen, age: live?.age ?? 0 });
  if (stale) refresh();
}

shortcut("b", "keyTable", () => {
  const open = [...charts.values()].some((chart) => chart.table);
  charts.forEach((chart) => chart.showTable(!open));
});
if (!ENDED.has(seen.status)) setInterval(connection, 1000);
live.start(json("first-frame"), !ENDED.has(seen.status));
