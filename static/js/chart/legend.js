// @ts-check
/** The legend is the read-out: the latest value that is settled, or the value under the cursor. */
import { h, s, write } from "../dom.js";
import { num } from "../numbers.js";
import { say } from "../words.js";

/** @typedef {import("../chart.js").Series} Series */

/** @type {Record<string, number[] | undefined>} */
export const DASHES = { p50: [2, 2.5], p95: [6, 3], p99: undefined, shadow: [5, 3], none: undefined };
/** @type {Record<string, number>} */
const WIDTHS = { p50: 1.5, p95: 1.5, p99: 2, shadow: 1.5, none: 1.75 };

/** Context lies wide and grey behind what is measured against it. @param {Series} series */
export function widthOf(series) {
  if (series.width) return series.width;
  if (series.color === "s0" && !series.fill) return 3;
  return series.fill ? 1 : (WIDTHS[series.dash ?? "none"] ?? WIDTHS.none);
}

/**
 * A series' value with its unit.
 * @param {Series} series
 * @param {string} unit
 * @param {number | null | undefined} value
 */
export function written(series, unit, value) {
  return value == null ? "–" : num(value, series.d ?? 0) + (unit ? ` ${unit}` : "");
}

/** @param {Series} series */
function swatch(series) {
  const dash = DASHES[series.dash ?? "none"];
  const line = s("line", { x1: 0, x2: 18, y1: 4, y2: 4, "stroke-width": widthOf(series), "stroke-dasharray": dash ? dash.join(" ") : "none" });
  const mark = s("svg", { class: "swatch", "data-color": series.color, width: 18, height: 8, "aria-hidden": "true" });
  if (series.fill) mark.append(s("rect", { width: 18, height: 8, y: 0 }));
  mark.append(line);
  return mark;
}

/**
 * @param {Series[]} series
 * @param {string} unit
 */
export function legend(series, unit) {
  const values = series.map(() => h("b", {}, "–"));
  const element = h("ul", { class: "legend" }, ...series.map((one, i) => h("li", {}, swatch(one), h("span", {}, one.label), values[i])));
  return {
    element,
    /**
     * Show the row at an index, or the latest of each line up to a row.
     * @param {number | null | undefined} index
     * @param {(number | null)[][]} columns
     * @param {(boolean[] | null)[]} weak
     * @param {number} [latest] the newest row that will not change, -1 where there is none
     */
    read(index, columns, weak, latest = Infinity) {
      series.forEach((one, i) => {
        const column = columns[i];
        let at = index ?? Math.min(latest, column.length - 1);
        if (index == null) while (at > 0 && column[at] == null) at--;
        if (index == null && one.bars) return write(values[i], "");
        const few = Boolean(weak[i]?.[at]) && column[at] != null;
        write(values[i], written(one, unit, column[at]));
        values[i].classList.toggle("weak", few);
        values[i].title = few ? say("tooSmall") : "";
      });
    },
  };
}
