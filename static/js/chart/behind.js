// @ts-check
/** The table behind a figure: the same rows, for whoever reads better than looks. */
import { h } from "../dom.js";
import { say } from "../words.js";
import { written } from "./legend.js";

/**
 * @param {import("../chart.js").Chart} chart
 * @param {number} height px, so that the page does not move when the table takes the plot's place
 */
export function behind(chart, height) {
  const { x, columns } = chart.data;
  const { series, unit } = chart.options;
  const rows = x.map((at, row) =>
    h("tr", {}, h("td", { class: "num" }, chart.options.xText(at)), ...series.map((one, i) => h("td", { class: "n" }, written(one, unit, columns[i][row])))),
  );
  const head = h("tr", {}, h("th", { scope: "col" }, chart.options.xName), ...series.map((one) => h("th", { scope: "col", class: "n" }, one.label)));
  const table = h("table", {}, h("caption", { class: "sr" }, chart.options.title), h("thead", {}, head), h("tbody", {}, ...rows));
  const box = h("div", { class: "data", tabindex: "0", role: "region", "aria-label": `${chart.options.title}, ${say("table")}` }, table);
  box.style.height = `${height}px`;
  return box;
}
