// @ts-check
/** The verdict bar: rewritten as it changes, and read out only when the verdict itself does. */
import { icon, write } from "../dom.js";
import { age, clock } from "../numbers.js";
import { say } from "../words.js";

/**
 * @param {HTMLElement} bar
 * @param {{outcome: string, word: string, state: string, because: string, detail?: string}} verdict
 * @param {string} status the run's, which gives the shape while there is no verdict
 */
export function showVerdict(bar, verdict, status) {
  const part = (/** @type {string} */ name) => bar.querySelector(`[data-part="${name}"]`);
  const changed = bar.dataset.v !== verdict.outcome || part("word")?.textContent !== verdict.word || part("state")?.textContent !== verdict.state;
  const shape = verdict.outcome === "none" ? status : verdict.outcome;
  if (bar.dataset.shape !== shape) bar.querySelector(".verdict-word svg")?.replaceWith(icon(shape, 26));
  bar.dataset.shape = shape;
  bar.dataset.v = verdict.outcome;
  write(part("word"), verdict.word);
  write(part("state"), verdict.state);
  write(part("because"), verdict.because);
  write(part("detail"), verdict.detail ?? "");
  if (changed) write(part("said"), say("statusChanged", verdict));
}

/**
 * @param {HTMLElement} bar
 * @param {{status: string, elapsed_s: number, duration_s: number, left_s?: number | null}} run
 */
export function showProgress(bar, run) {
  const part = (/** @type {string} */ name) => bar.querySelector(`[data-part="${name}"]`);
  const progress = /** @type {HTMLProgressElement | null} */ (part("progress"));
  if (!progress) return;
  progress.max = run.duration_s;
  progress.value = Math.min(run.elapsed_s, run.duration_s);
  write(part("elapsed"), clock(run.elapsed_s));
  write(part("duration"), clock(run.duration_s));
  const left = run.left_s ?? run.duration_s - run.elapsed_s;
  write(part("left"), left > 0 ? say("left", { left: clock(left) }) : run.status === "running" ? say("over") : "");
}

const STALE_S = 5;

/**
 * The connection and the age of the data, in words.
 * @param {HTMLElement} bar
 * @param {{state: string, waitS: number, age: number, moving: boolean}} seen `moving`: new data are due each second
 */
export function showConnection(bar, { state, waitS, age: seconds, moving }) {
  const line = /** @type {HTMLElement | null} */ (bar.querySelector('[data-part="connection"]'));
  if (!line) return;
  const stale = state === "live" && moving && seconds > STALE_S;
  const words = { connecting: say("connecting"), live: say(stale ? "stale" : "live"), retry: say("retrying", { s: Math.ceil(waitS) }), paused: say("paused"), hidden: say("hidden"), ended: say("ended") }[state] ?? "";
  line.dataset.s = stale ? "stale" : state === "hidden" ? "paused" : state;
  write(line, state === "ended" || !moving ? words : `${words} · ${say("age", { age: age(seconds) })}`);
  const notice = document.getElementById("stale");
  if (notice) notice.hidden = !stale;
}
