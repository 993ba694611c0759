// @ts-check
/** Key figures: value, sparkline, interval against its target, n. */
import { h, icon } from "../dom.js";
import { gauge, spark } from "../gauges.js";
import { num } from "../numbers.js";
import { say } from "../words.js";

/**
 * @typedef {{id: string, title: string, value: number | null, text: string, unit: string, n: number | null, n_text: string, effective_n?: number | null, low?: number | null, high?: number | null, low_text?: string, high_text?: string, target?: number | null, target_text?: string, bad?: "above" | "below" | null, min?: number, max?: number, status: string, word?: string, judged?: boolean, enough?: boolean, spark?: (number | null)[], rows?: [string, string][], note?: string}} Tile
 */

/** @type {Record<string, string>} */
const WORDS = { ok: "meets", bad: "misses", warn: "unsure" };
/** @type {Map<string, string>} what each tile was drawn from */
const drawn = new Map();

/** @param {Tile} tile */
function state(tile) {
  if (WORDS[tile.status]) return h("span", { class: "state" }, icon(tile.status, 10), tile.word ?? say(WORDS[tile.status]));
  return h("span", { class: "state" }, tile.word ? tile.word : tile.target == null ? say("noObjective") : tile.judged === false ? say("notJudged") : "");
}

/** Digits as in the tile's own text. @param {Tile} tile @param {number} value */
function like(tile, value) {
  const digits = (tile.text.split(".")[1] ?? "").length;
  return num(tile.unit === "%" ? 100 * value : value, digits);
}

/** @param {Tile} tile */
function range(tile) {
  const { low, high } = tile;
  if (low == null || high == null) return null;
  return { low: tile.low_text ?? like(tile, low), high: tile.high_text ?? like(tile, high), unit: tile.unit };
}

/** @param {Tile} tile */
function draw(tile) {
  const bounds = range(tile);
  const { value, low, high, target, min, max, bad } = tile;
  const label = bounds ? say("intervalOf", bounds) : `${tile.text} ${tile.unit}`;
  const n = tile.effective_n == null ? tile.n_text : say("effective", { n: tile.n_text, m: num(tile.effective_n) });
  /** @type {[string, string][]} */
  const pairs = [
    ...(bounds ? /** @type {[string, string][]} */ ([[say("interval"), say("range", bounds)]]) : []),
    ...(tile.target_text ? /** @type {[string, string][]} */ ([[say("target"), tile.target_text]]) : []),
    [say("n"), tile.enough === false ? `${n || "0"}, ${say("tooSmall")}` : n || "–"],
    ...(tile.rows ?? []),
  ];
  const figure = min == null || max == null ? null : gauge({ value, low, high, target, min, max, bad, label });
  return [
    h("h3", {}, h("span", {}, tile.title), state(tile)),
    h("p", { class: "value" }, tile.text, h("small", {}, tile.value == null ? "" : tile.unit)),
    spark(tile.spark ?? [], target ?? null),
    figure ?? h("span", {}),
    h("dl", {}, ...pairs.flatMap(([name, words]) => [h("dt", {}, name), h("dd", {}, words)])),
    ...(tile.note ? [h("p", { class: "note" }, tile.note)] : []),
  ];
}

/**
 * @param {HTMLElement} container
 * @param {Tile[]} tiles
 */
export function showTiles(container, tiles) {
  const ids = tiles.map((tile) => tile.id).join();
  const there = [...container.children].map((child) => /** @type {HTMLElement} */ (child).dataset.tile).join();
  if (ids !== there) {
    drawn.clear();
    container.replaceChildren(...tiles.map((tile) => h("article", { class: "tile", "data-tile": tile.id })));
  }
  tiles.forEach((tile, i) => {
    const text = JSON.stringify(tile);
    if (drawn.get(tile.id) === text) return;
    drawn.set(tile.id, text);
    const element = /** @type {HTMLElement} */ (container.children[i]);
    element.dataset.v = tile.status;
    element.dataset.enough = tile.enough === false ? "no" : "yes";
    element.replaceChildren(...draw(tile));
  });
}
