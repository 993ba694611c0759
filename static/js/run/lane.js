// @ts-check
/** Events under the controller trace, one lane: ▼ cut, ▲ growth, ◆ undo; a tick where it held. */
import { h, s } from "../dom.js";
import { clock, num } from "../numbers.js";
import { say } from "../words.js";
import { inputs, kind } from "./decisions.js";

/** @typedef {import("./decisions.js").Decision} Decision */

/** @type {Record<string, string>} */
const SHAPES = { cut: "M2 4h12L8 13z", grow: "M2 12h12L8 3z", undo: "M8 2l6 6-6 6-6-6z" };
const APART = 9;

/**
 * The marks that fit, the newest of each crowd winning over growths, and cuts over all.
 * @param {Decision[]} decisions
 * @param {(at: number) => number} X
 */
function fitting(decisions, X) {
  const rank = { undo: 3, cut: 2, grow: 1, hold: 0 };
  const order = decisions.filter((decision) => kind(decision) !== "hold").sort((a, b) => rank[kind(b)] - rank[kind(a)] || b.at - a.at);
  /** @type {Set<number>} */
  const taken = new Set();
  const kept = order.filter((decision) => {
    const slot = Math.round(X(decision.at) / APART);
    if (taken.has(slot) || (kind(decision) === "grow" && (taken.has(slot - 1) || taken.has(slot + 1)))) return false;
    taken.add(slot);
    return true;
  });
  return kept.sort((a, b) => a.at - b.at);
}

/**
 * @param {HTMLElement} lane
 * @param {any} u the uPlot above it
 * @param {{name: string, list: Decision[]}[]} rows one for each that decides
 * @param {(decision: Decision) => void} choose
 */
export function drawLane(lane, u, rows, choose) {
  lane.replaceChildren(...rows.map(({ name, list }) => row(lane, u, name, list, choose)));
}

/**
 * @param {HTMLElement} lane
 * @param {any} u
 * @param {string} name
 * @param {Decision[]} decisions
 * @param {(decision: Decision) => void} choose
 */
function row(lane, u, name, decisions, choose) {
  const { min, max } = u.scales.x;
  const offset = u.over.getBoundingClientRect().left - lane.getBoundingClientRect().left;
  const X = (/** @type {number} */ at) => offset + u.valToPos(at, "x");
  const end = offset + u.over.clientWidth;
  const seen = decisions.filter(({ at }) => at >= min && at <= max);
  const kept = fitting(seen, X);
  const slots = new Set(seen.map(({ at }) => Math.round(X(at) / 4) * 4));
  const ticks = s("svg", { class: "ticks", "aria-hidden": "true" }, s("path", { d: [...slots].map((x) => `M${x + 0.5} 20v4`).join(""), "stroke-width": 1 }));
  const marks = kept.map((decision, i) => {
    const which = kind(decision);
    const x = X(decision.at);
    const room = (i + 1 < kept.length ? X(kept[i + 1].at) : end) - x;
    const words = say("decisionAt", { time: clock(decision.at), reason: decision.reason, before: num(decision.before), after: num(decision.after) });
    const button = h("button", { class: "ev", type: "button", "data-kind": which, title: `${words}\n${inputs(decision)}`, "aria-label": `${say(which)}, ${words}` }, s("svg", { width: 12, height: 12, viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: SHAPES[which] })));
    if (which !== "grow" && room > decision.reason.length * 6.7 + 26) button.append(decision.reason);
    button.style.setProperty("--x", x.toFixed(1));
    button.tabIndex = -1;
    button.addEventListener("click", () => choose(decision));
    return button;
  });
  if (marks.length) marks[marks.length - 1].tabIndex = 0;
  return h("div", { class: "lane-row" }, ticks, h("span", { class: "lane-name" }, say(name)), ...marks);
}

/** Arrow keys move along the lane, so that it costs one tab stop. @param {HTMLElement} lane */
export function walkLane(lane) {
  lane.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const marks = /** @type {HTMLElement[]} */ ([...lane.querySelectorAll(".ev")]);
    const at = marks.indexOf(/** @type {HTMLElement} */ (event.target));
    if (!by || at < 0) return;
    event.preventDefault();
    marks[Math.max(0, Math.min(marks.length - 1, at + by))].focus();
  });
}
