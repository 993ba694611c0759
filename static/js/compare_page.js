// @ts-check
/** Two finished runs in one chart each: A solid, B dashed, one cursor for all. */
import { h, json } from "./dom.js";
import { Figure } from "./figure.js";
import { Table } from "./store.js";

const page = json("pair");
const place = /** @type {HTMLElement} */ (document.getElementById("figures"));

for (const spec of page.figures) {
  const element = h("figure", { id: `figure-${spec.id}` });
  place.append(element);
  const table = new Table(page.columns);
  table.take({ step: spec.step, rows: spec.rows });
  const figure = new Figure(element, spec, table);
  figure.draw({ range: [0, Math.max(1, table.end)], warmUp: 0 });
  figure.chart.summarise(spec.said);
}
