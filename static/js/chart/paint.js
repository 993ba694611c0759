// @ts-check
/** What stands behind and before the lines: washes, bands, spans, hatched gaps, limits, labels. */
import { color } from "../theme.js";
import { hatch, ribbon } from "./areas.js";

/**
 * @typedef {{y: number, label: string, side?: "above" | "below" | null}} Mark a limit; `side` is the side that misses
 * @typedef {{from: number, to: number, kind: "warm" | "open" | "gap" | "more", label?: string}} Span "more" is the last bar of a histogram, with all that lies beyond
 * @typedef {{low: (number | null)[], high: (number | null)[], color: string}} Band
 * @typedef {{upper: (number | null)[], lower: (number | null)[], color: string}} Divergence
 * @typedef {{ctx: CanvasRenderingContext2D, left: number, top: number, width: number, height: number, dpr: number, X: (v: number) => number, Y: (v: number) => number, high: number, to: number, from: number}} Plot
 */

const FONT = '-apple-system, BlinkMacSystemFont, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif';

/** @param {number} dpr */
export const font = (dpr) => `${11 * dpr}px ${FONT}`;

/**
 * @param {any} u a uPlot
 * @returns {Plot}
 */
export function plotOf(u) {
  const { left, top, width, height } = u.bbox;
  const { x, y } = u.scales;
  return {
    ctx: u.ctx, left, top, width, height, dpr: devicePixelRatio, from: x.min, to: x.max, high: y.max,
    X: (value) => u.valToPos(value, "x", true), Y: (value) => u.valToPos(value, "y", true),
  };
}

/**
 * @param {Plot} p
 * @param {Span} span
 */
const edges = (p, span) => [p.X(Math.max(span.from, p.from)), p.X(Math.min(span.to, p.to))];

/**
 * @param {Plot} p
 * @param {{x: number[], marks: Mark[], spans: Span[], bands: Band[], divergence?: Divergence | null}} seen
 */
export function paintUnder(p, { x, marks, spans, bands, divergence }) {
  const { ctx, left, top, width, height } = p;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  for (const { y, side } of marks) {
    if (!side) continue;
    const at = Math.max(top, Math.min(top + height, p.Y(y)));
    ctx.fillStyle = color("bad", 0.07);
    if (side === "above") ctx.fillRect(left, top, width, at - top);
    else ctx.fillRect(left, at, width, top + height - at);
  }
  for (const span of spans) {
    const [from, to] = edges(p, span);
    if (to <= from) continue;
    ctx.fillStyle = color("ink-3", span.kind === "gap" ? 0.06 : 0.1);
    ctx.fillRect(from, top, to - from, height);
    if (span.kind === "gap") hatch(p, from, to - from);
  }
  for (const band of bands) ribbon(p, x, band.low, band.high, color(band.color, 0.17));
  if (divergence) ribbon(p, x, divergence.lower, divergence.upper, color(divergence.color, 0.15), true);
  ctx.restore();
}

/**
 * A label on its own ground, so that no line runs through it.
 * @param {Plot} p
 * @param {string} text
 * @param {number} x its right end, or its middle
 * @param {number} y
 * @param {string} ink
 * @param {"right" | "center"} align
 */
function label({ ctx, dpr }, text, x, y, ink, align) {
  ctx.font = font(dpr);
  ctx.textAlign = align;
  ctx.textBaseline = "middle";
  const width = ctx.measureText(text).width;
  const left = align === "right" ? x - width : x - width / 2;
  ctx.fillStyle = color("sheet", 0.88);
  ctx.fillRect(left - 3 * dpr, y - 7 * dpr, width + 6 * dpr, 14 * dpr);
  ctx.fillStyle = ink;
  ctx.fillText(text, x, y);
}

/**
 * @param {Plot} p
 * @param {{marks: Mark[], spans: Span[]}} seen
 */
export function paintOver(p, { marks, spans }) {
  const { ctx, left, top, width, height, dpr } = p;
  ctx.save();
  /** @type {number[]} Where labels stand already: two limits may be close. */
  const taken = [];
  for (const mark of marks) {
    const y = Math.round(p.Y(mark.y)) + 0.5;
    if (y < top - 1 || y > top + height + 1) continue;
    const ink = color(mark.side ? "bad" : "ink-2");
    ctx.strokeStyle = ink;
    ctx.lineWidth = dpr;
    ctx.beginPath();
    ctx.moveTo(left, y);
    ctx.lineTo(left + width, y);
    ctx.stroke();
    const places = [-9, 9, -23, 23].map((off) => y + off * dpr).filter((at) => at - 7 * dpr >= top && at + 7 * dpr <= top + height);
    if (mark.side === "below") places.sort((a, b) => Number(b > y) - Number(a > y));
    const at = places.find((place) => taken.every((other) => Math.abs(other - place) >= 14 * dpr)) ?? places[0] ?? y;
    taken.push(at);
    label(p, mark.label, left + width - 5 * dpr, at, ink, "right");
  }
  for (const span of spans) {
    if (!span.label) continue;
    const [from, to] = edges(p, span);
    ctx.font = font(dpr);
    const wide = ctx.measureText(span.label).width;
    const more = span.kind === "more";
    if (!more && to - from + (span.kind === "gap" ? 30 * dpr : 0) < wide) continue;
    const middle = Math.max(left + wide / 2 + 4 * dpr, Math.min((from + to) / 2, left + width - wide / 2 - 4 * dpr));
    label(p, span.label, middle, more ? top + 9 * dpr : top + height - 10 * dpr, color(more ? "ink-2" : "ink-3"), "center");
  }
  ctx.restore();
}
