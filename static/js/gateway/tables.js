// @ts-check
/** A gateway's tables: its lanes with their engines, who was served, what its laws decided. */
import { h, icon } from "../dom.js";
import { num, utc } from "../numbers.js";
import { inputs } from "../run/decisions.js";
import { say } from "../words.js";

/**
 * @typedef {{name: string, up: boolean | null, in_flight: number | null}} Engine
 * @typedef {{lane: string, process: string, arm: string, policy: string, block: number | null, limit: number | null, in_flight: number | null, waiting: number | null, overdue: number, quiet: string, endpoints: Engine[]}} Lane
 * @typedef {{tenant: string, offered: number, rate: number, attainment: number | null, late: number, target: number | null, shed: number, token_share: number | null}} Tenant
 * @typedef {{n: number, at: number, lane: string, shadow: boolean, before: number, after: number, reason: string, meaning: string, inputs: Record<string, number | null>}} Decision
 */

/** @param {HTMLElement} table */
const heads = (table) => [...table.querySelectorAll("thead th")].map((head) => head.textContent ?? "");
/** @param {string} label @param {Node | string} content @param {string} [kind] */
const cell = (label, content, kind = "") => h("td", { "data-l": label, class: kind }, content);
/** @param {number | null} share @param {number} digits */
const perCent = (share, digits) => (share == null ? "–" : say("perCent", { v: num(100 * share, digits) }));

/** @param {HTMLElement} table @param {Node[]} rows @param {string} none */
function fill(table, rows, none) {
  const width = String(heads(table).length);
  table.querySelector("tbody")?.replaceChildren(...(rows.length ? rows : [h("tr", {}, h("td", { class: "none all", colspan: width }, none))]));
}

/** Up says that it can be reached; one that owes answers and sends none is not well. @param {Engine} engine @param {string} quiet */
function ends({ name, up, in_flight: held }, quiet) {
  const [shape, word] = up == null ? ["void", "unheard"] : !up ? ["bad", "down"] : quiet && held ? ["bad", "noAnswer"] : ["ok", "up"];
  return h("div", { class: "nowrap" }, h("span", { class: "badge", "data-v": shape }, icon(shape, 12), say(word)), ` ${name}${held == null ? "" : `, ${num(held)}`}`);
}

/** @param {HTMLElement} table @param {Lane[]} lanes */
export function showLanes(table, lanes) {
  const [, runs, endpoints, held, limit, queue, process] = heads(table);
  const rows = lanes.map((lane) => {
    const arm = lane.block == null ? lane.arm : say("inBlock", { arm: lane.arm, block: num(lane.block + 1) });
    const late = lane.overdue ? h("span", { class: "sub" }, say(lane.quiet ? "lateQuiet" : "lateWaiting", { n: num(lane.overdue), s: lane.quiet })) : null;
    const policy = lane.policy ? h("span", {}, h("span", { class: "mono" }, lane.policy), h("span", { class: "sub" }, arm)) : "–";
    return h("tr", {}, cell("", h("span", {}, lane.lane, late), "main"), cell(runs, policy), cell(endpoints, h("div", {}, ...lane.endpoints.map((engine) => ends(engine, lane.quiet))), "all"), cell(held, num(lane.in_flight), "n"), cell(limit, num(lane.limit), "n"), cell(queue, num(lane.waiting), "n"), cell(process, h("span", { class: "mono" }, lane.process || "–")));
  });
  fill(table, rows, say("noLanes"));
}

/** @param {HTMLElement} table @param {Tenant[]} tenants */
export function showTenants(table, tenants) {
  const [, offered, rate, attainment, target, shed, tokens] = heads(table);
  const rows = tenants.map((one) =>
    h("tr", {}, cell("", one.tenant, "main"), cell(offered, num(one.offered), "n"), cell(rate, say("perSecond", { v: num(one.rate, 1) }), "n"), cell(attainment, one.late ? h("span", {}, perCent(one.attainment, 2), h("span", { class: "sub" }, say("lateWaiting", { n: num(one.late) }))) : perCent(one.attainment, 2), "n"), cell(target, one.target == null ? "–" : `≥ ${perCent(one.target, 2)}`, "n"), cell(shed, num(one.shed), "n"), cell(tokens, perCent(one.token_share, 1), "n")),
  );
  fill(table, rows, say("noTraffic"));
}

/** @param {HTMLElement} table @param {Decision[]} decisions the newest first */
export function showDecisions(table, decisions) {
  const [, lane, limit, reason] = heads(table);
  const rows = decisions.map((one) =>
    h(
      "tr", {},
      cell("", utc(one.at), "num nowrap"),
      cell(lane, h("span", {}, one.lane, " ", one.shadow ? h("span", { class: "tag" }, say("shadowed")) : null)),
      cell(limit, h("span", {}, `${num(one.before)} → `, h("b", {}, num(one.after))), "n"),
      cell(reason, h("span", {}, one.point && one.point !== "concurrency" ? h("span", { class: "tag" }, one.point) : null, h("span", { class: "mono" }, one.reason), h("span", { class: "sub" }, one.meaning, " ", inputs(one))), "all"),
    ),
  );
  fill(table, rows, say("noDecisions"));
}
