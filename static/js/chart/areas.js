// @ts-check
/** Areas: the hatching of a gap, and the band between two lines. */
import { color } from "../theme.js";

/** @typedef {import("./paint.js").Plot} Plot */

/**
 * @param {Plot} p
 * @param {number} x
 * @param {number} width
 */
export function hatch({ ctx, top, height, dpr }, x, width) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, top, width, height);
  ctx.clip();
  ctx.strokeStyle = color("ink-3", 0.4);
  ctx.lineWidth = dpr;
  ctx.beginPath();
  for (let at = -height; at < width; at += 7 * dpr) {
    ctx.moveTo(x + at, top + height);
    ctx.lineTo(x + at + height, top);
  }
  ctx.stroke();
  ctx.restore();
}

/**
 * The area between two lines; broken wherever one of them is.
 * @param {Plot} p
 * @param {number[]} x
 * @param {(number | null)[]} low
 * @param {(number | null)[]} high
 * @param {string} fill
 * @param {boolean} [stepped]
 */
export function ribbon(p, x, low, high, fill, stepped = false) {
  p.ctx.fillStyle = fill;
  for (let i = 0; i + 1 < x.length; i++) {
    const [a, b] = [low[i], high[i]];
    const [c, d] = stepped ? [a, b] : [low[i + 1], high[i + 1]];
    if (a == null || b == null || c == null || d == null) continue;
    const [from, to] = [Math.round(p.X(x[i])), Math.round(p.X(x[i + 1]))];
    p.ctx.beginPath();
    p.ctx.moveTo(from, p.Y(a));
    p.ctx.lineTo(from, p.Y(b));
    p.ctx.lineTo(to, p.Y(d));
    p.ctx.lineTo(to, p.Y(c));
    p.ctx.fill();
  }
}
