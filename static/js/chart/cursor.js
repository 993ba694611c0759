// @ts-check
/** The cursor by keyboard: arrows move it, with shift by ten; what it stands on is read out. */
import { say } from "../words.js";
import { written } from "./legend.js";

/**
 * @param {import("../chart.js").Chart} chart
 * @param {HTMLElement} plot
 * @param {HTMLElement} live an aria-live element
 */
export function keyboardCursor(chart, plot, live) {
  /** @type {number | null} */
  let at = null;
  /** @type {number | undefined} */
  let waiting;

  function speak() {
    const index = chart.indexOf(at);
    if (index == null) return;
    const { series, unit } = chart.options;
    const values = series.map((one, i) => {
      const few = chart.data.weak[i]?.[index] ? `, ${say("tooSmall")}` : "";
      return say("value", { label: one.label, value: written(one, unit, chart.data.columns[i][index]) }) + few;
    });
    live.textContent = say("at", { time: chart.options.xText(chart.data.x[index]), values: values.join("; ") });
  }

  plot.addEventListener("keydown", (event) => {
    const { x } = chart.data;
    if (!x.length || event.ctrlKey || event.metaKey || event.altKey) return;
    const by = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "Escape") {
      at = null;
      chart.point(null);
      return;
    }
    if (by == null) return;
    event.preventDefault();
    const [first, last] = chart.visible();
    const from = chart.indexOf(at) ?? (by < 0 ? last + 1 : first - 1);
    const index = Math.max(first, Math.min(last, from + by * (event.shiftKey ? 10 : 1)));
    at = x[index];
    chart.point(at);
    clearTimeout(waiting);
    waiting = setTimeout(speak, 200);
  });
  plot.addEventListener("blur", () => {
    at = null;
    chart.point(null);
  });
}
