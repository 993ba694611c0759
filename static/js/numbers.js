// @ts-check
/** Numbers, times and ages as they are written everywhere: comma, true minus, "–" for null. */
import { say } from "./words.js";

/** @type {Map<number, Intl.NumberFormat>} */
const formats = new Map();

/**
 * @param {number | null | undefined} value
 * @param {number} [digits]
 */
export function num(value, digits = 0) {
  if (value == null || Number.isNaN(value)) return "–";
  let format = formats.get(digits);
  if (!format) formats.set(digits, (format = new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })));
  return format.format(value).replace("-", "−").replace(/^−(0(\.0+)?)$/, "$1");
}

/**
 * A number whose digits nobody chose: about three that mean something.
 * @param {number | null | undefined} value
 */
export function some(value) {
  if (value == null || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (Number.isInteger(value) || size >= 100) return num(value);
  return num(value, size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

/**
 * Elapsed time, m:ss or h:mm:ss.
 * @param {number | null | undefined} seconds
 */
export function clock(seconds) {
  if (seconds == null) return "–";
  const whole = Math.max(0, Math.floor(seconds + 1e-9));
  const two = (/** @type {number} */ value) => String(value).padStart(2, "0");
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/**
 * The time of day in UTC of Unix seconds, hh:mm:ss.
 * @param {number | null | undefined} seconds
 */
export function utc(seconds) {
  return seconds == null ? "–" : new Date(1000 * seconds).toISOString().slice(11, 19);
}

/**
 * The day and the time of day in UTC of Unix seconds, mm-dd hh:mm.
 * @param {number | null | undefined} seconds
 */
export function day(seconds) {
  return seconds == null ? "–" : new Date(1000 * seconds).toISOString().slice(5, 16).replace("T", " ");
}

/**
 * An age in words: 0.8 s, 12 s, 4 min, 3 h.
 * @param {number} seconds
 */
export function age(seconds) {
  if (seconds < 10) return say("secondsShort", { n: num(Math.max(0, seconds), 1) });
  if (seconds < 120) return say("secondsShort", { n: num(seconds) });
  if (seconds < 7200) return say("minutesShort", { n: num(seconds / 60) });
  if (seconds < 172800) return say("hoursShort", { n: num(seconds / 3600) });
  return say("daysShort", { n: num(seconds / 86400) });
}
