// @ts-check
/** Figures in rows, those of one case together under its name. */
import { h } from "../dom.js";

/**
 * A figure element for each spec, in its place.
 * @template {{id: string, case: string}} Spec
 * @param {HTMLElement} place
 * @param {Spec[]} specs
 * @param {number} columns at most so many stand in a row
 * @param {(element: HTMLElement, spec: Spec) => void} draw
 */
export function byCase(place, specs, columns, draw) {
  /** @type {HTMLElement | null} the figures of one case */
  let cells = null;
  let named = "";
  for (const spec of specs) {
    if (!cells || spec.case !== named) {
      named = spec.case;
      const alike = specs.filter((one) => one.case === named).length;
      cells = h("div", { class: `cells cols-${Math.max(2, Math.min(columns, alike))}` });
      place.append(h("h3", { class: "case" }, named), cells);
    }
    const element = h("figure", { id: spec.id });
    cells.append(element);
    draw(element, spec);
  }
}
