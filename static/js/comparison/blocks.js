// @ts-check
/** Over the line of the mean: a dot for each block's own gap, a ring where the plan looks. */
import { plotOf } from "../chart/paint.js";
import { color } from "../theme.js";

/**
 * @param {any} u a uPlot
 * @param {[number, number, number, number | null, number | null, boolean][]} points
 */
export function drawBlocks(u, points) {
  const { ctx, left, top, width, height, dpr, X, Y } = plotOf(u);
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.fillStyle = color("ink-3");
  for (const [block, d] of points) {
    ctx.beginPath();
    ctx.arc(X(block), Y(d), 2.5 * dpr, 0, 2 * Math.PI);
    ctx.fill();
  }
  ctx.strokeStyle = color("ink");
  ctx.lineWidth = 1.5 * dpr;
  for (const [block, , m, , , look] of points) {
    if (!look) continue;
    ctx.beginPath();
    ctx.arc(X(block), Y(m), 5 * dpr, 0, 2 * Math.PI);
    ctx.stroke();
  }
  ctx.restore();
}
