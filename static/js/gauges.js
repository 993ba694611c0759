// @ts-check
/** Small pictures of one number: a sparkline, and an interval against its target. */
import { s } from "./dom.js";

/**
 * The last minutes of a number as a line; a gap stays a gap.
 * @param {(number | null)[]} values
 * @param {number | null} [target]
 */
export function spark(values, target = null) {
  const known = values.filter((value) => value != null).map(Number);
  const all = target == null || !known.length ? known : [...known, target];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const Y = (/** @type {number} */ value) => (high > low ? 27 - (24 * (value - low)) / (high - low) : 15);
  let path = "";
  let drawing = false;
  values.forEach((value, i) => {
    if (value != null) path += `${drawing ? "L" : "M"}${((84 * i) / Math.max(1, values.length - 1)).toFixed(1)} ${Y(value).toFixed(1)}`;
    drawing = value != null;
  });
  const picture = s("svg", { class: "spark", viewBox: "0 0 84 30", preserveAspectRatio: "none", "aria-hidden": "true" });
  if (target != null && known.length) picture.append(s("line", { x1: 0, x2: 84, y1: Y(target), y2: Y(target) }));
  picture.append(s("path", { d: path }));
  return picture;
}

/**
 * Thick bar the interval, dot the estimate, red tick the target, red wash where it would miss.
 * @param {{value: number | null, low?: number | null, high?: number | null, target?: number | null, min: number, max: number, bad?: "above" | "below" | null, label: string}} of
 */
export function gauge({ value, low, high, target, min, max, bad, label }) {
  const part = (/** @type {number} */ x) => Math.max(0, Math.min(1, (x - min) / (max - min || 1)));
  const at = (/** @type {number} */ x) => `${(100 * part(x)).toFixed(2)}%`;
  const wide = (/** @type {number} */ a, /** @type {number} */ b) => `${(100 * Math.max(0, part(b) - part(a))).toFixed(2)}%`;
  const picture = s("svg", { class: "gauge", role: "img", "aria-label": label });
  if (target != null && bad === "below") picture.append(s("rect", { class: "miss", x: 0, width: wide(min, target), y: 2, height: 12 }));
  if (target != null && bad === "above") picture.append(s("rect", { class: "miss", x: at(target), width: wide(target, max), y: 2, height: 12 }));
  picture.append(s("rect", { class: "axis", x: 0, width: "100%", y: 7.5, height: 1 }));
  if (low != null && high != null) picture.append(s("rect", { class: "range", x: at(low), width: wide(low, high), y: 5, height: 6, rx: 1 }));
  if (target != null) picture.append(s("line", { class: "target", x1: at(target), x2: at(target), y1: 0, y2: 16 }));
  if (value != null) picture.append(s("circle", { class: "dot", cx: at(value), cy: 8, r: 4.5 }));
  return picture;
}
