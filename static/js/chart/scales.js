// @ts-check
/** Where ticks stand, and how far an axis goes. Pure arithmetic. */

/** @typedef {[number, number]} Range */

/**
 * Round bounds and ticks that hold [low, high].
 * @param {number} low
 * @param {number} high
 * @param {number} [wanted] intervals
 * @returns {{low: number, high: number, ticks: number[]}}
 */
export function nice(low, high, wanted = 4) {
  const raw = (high - low) / wanted || Math.max(Math.abs(high), 1) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const lead = raw / power;
  const step = [1, 2, 2.5, 5, 10].find((size) => lead <= size + 1e-9) ?? 10;
  const width = step * power;
  const first = Math.floor(low / width + 1e-9) * width;
  let last = Math.ceil(high / width - 1e-9) * width;
  if (last <= first) last = first + width;
  const ticks = [];
  for (let value = first; value <= last + width / 2; value += width) ticks.push(Number(value.toPrecision(12)));
  return { low: first, high: last, ticks };
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200];

/**
 * Ticks of elapsed time, about one every 72 px.
 * @param {Range} range seconds
 * @param {number} width px
 */
export function timeTicks([from, to], width) {
  const most = Math.max(2, width / 72);
  const step = STEPS.find((size) => (to - from) / size <= most) ?? 86400;
  const ticks = [];
  for (let at = Math.ceil(from / step - 1e-9) * step; at <= to + 1e-9; at += step) ticks.push(at);
  return ticks;
}

/**
 * 1, 2, 5 of each decade in the range; decades alone where there are many.
 * @param {Range} range
 */
export function logTicks([low, high]) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const leads = last - first > 3 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let power = first; power <= last; power++) for (const lead of leads) ticks.push(Number((lead * 10 ** power).toPrecision(3)));
  return ticks.filter((value) => value >= low * 0.999 && value <= high * 1.001);
}

/**
 * The lowest and highest of what is drawn; null where nothing is.
 * @param {(number | null)[][]} columns
 * @param {number[]} also
 * @returns {Range | null}
 */
export function extent(columns, also = []) {
  let [low, high] = [Infinity, -Infinity];
  for (const column of columns) {
    for (const value of column) {
      if (value == null) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (low > high && !also.length) return null;
  for (const value of also) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return [low, high];
}

/**
 * The value axis: fixed where the figure says so, else what the data and limits need. It never
 * goes above the figure's own maximum.
 * @param {Range | null} found
 * @param {{min?: number, max?: number}} wanted
 * @param {boolean} log
 * @param {number} ticks
 * @returns {{low: number, high: number, ticks: number[]}}
 */
export function valueAxis(found, wanted, log, ticks) {
  if (log) {
    const [least, most] = found && found[0] > 0 ? found : [1, 100];
    const around = logTicks([10 ** Math.floor(Math.log10(least)), 10 ** Math.ceil(Math.log10(most) + 1e-9)]);
    const low = around.filter((tick) => tick <= least).pop() ?? least / 2;
    const high = around.find((tick) => tick >= most && tick > low) ?? most * 2;
    const top = wanted.max != null && wanted.max > low ? Math.min(high, wanted.max) : high;
    return { low, high: top, ticks: logTicks([low, top]) };
  }
  if (!found && wanted.max == null) return { low: 0, high: 1, ticks: [] };
  let [low, high] = found ?? [wanted.min ?? 0, wanted.max ?? 1];
  // One level alone, a limit before any data or a steady line, is drawn from nothing, not magnified.
  if (low === high && wanted.min == null && wanted.max == null) [low, high] = [Math.min(0, low), Math.max(0, high)];
  const room = high + (high - (wanted.min ?? low)) * 0.03;
  const top = wanted.max ?? (high > (wanted.min ?? low) ? room : (wanted.min ?? low) + 1);
  if (wanted.max == null) return nice(Math.min(wanted.min ?? low, top), top, ticks);
  const below = wanted.min ?? (low < top ? low : top - Math.max(0.05 * Math.abs(top), 1e-6));
  const axis = nice(below, top, ticks);
  return { low: axis.low, high: top, ticks: axis.ticks.filter((tick) => tick <= top + 1e-9) };
}

/**
 * The digits that a tick needs.
 * @param {number} value
 */
export function tickDigits(value) {
  for (let digits = 0; digits < 4; digits++) if (Math.abs(value * 10 ** digits - Math.round(value * 10 ** digits)) < 1e-6) return digits;
  return 4;
}
