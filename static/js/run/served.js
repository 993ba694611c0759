// @ts-check
/** Who was served, and what failed. */
import { h } from "../dom.js";
import { gauge } from "../gauges.js";
import { num } from "../numbers.js";
import { say } from "../words.js";

/**
 * @typedef {{outcome: string, count: number, share: number | null, first_error?: string | null, meaning?: string}} Failure
 * @typedef {{tenant: string, tier?: string, offered: number, attainment: number | null, low?: number | null, high?: number | null, target?: number | null, ttft_p99_ms?: number | null, tpot_p99_ms?: number | null, ttft_rough_ms?: number | null, tpot_rough_ms?: number | null, shed?: number | null, token_share?: number | null}} Tenant
 */

/** @param {string} label @param {Node | string} content @param {string} [kind] */
const cell = (label, content, kind = "") => h("td", { "data-l": label, class: kind }, content);
/** @param {number | null | undefined} share @param {number} digits */
const perCent = (share, digits) => (share == null ? "–" : say("perCent", { v: num(100 * share, digits) }));
/** P99 in ms; in grey the rough one, where n is too small. @param {number | null | undefined} value @param {number | null | undefined} rough @param {number} digits */
function p99(value, rough, digits) {
  if (value == null && rough != null) return h("span", { class: "muted", title: say("tooSmall") }, `${num(rough, digits)} ms`);
  return value == null ? "–" : `${num(value, digits)} ms`;
}

/** The labels of a table's head, for its cells on a phone. @param {HTMLElement} table */
const heads = (table) => [...table.querySelectorAll("thead th")].map((head) => head.textContent ?? "");

/** @param {HTMLElement} table @param {(Node[])} rows @param {string} none */
function fill(table, rows, none) {
  const width = String(heads(table).length);
  table.querySelector("tbody")?.replaceChildren(...(rows.length ? rows : [h("tr", {}, h("td", { class: "none all", colspan: width }, none))]));
}

/** @param {HTMLElement} table @param {Failure[]} failures @param {boolean} measured @param {boolean} ended */
export function showFailures(table, failures, measured, ended) {
  const [, what, count, share] = heads(table);
  const rows = failures.map((failure) =>
    h("tr", {}, cell("", h("span", { class: "mono" }, failure.outcome), "main"), cell(what, failure.first_error || failure.meaning || "–", "all"), cell(count, num(failure.count), "n"), cell(share, perCent(failure.share, 3), "n")),
  );
  fill(table, rows, say(measured ? "noFailures" : ended ? "nothingMeasured" : "nothingYet"));
}

/** @param {Tenant} tenant @param {number} least the left end of every tenant's scale */
function interval({ attainment, low, high, target }, least) {
  if (attainment == null) return h("span", { class: "muted" }, "–");
  const label = low == null || high == null ? perCent(attainment, 2) : say("intervalOf", { low: num(100 * low, 2), high: num(100 * high, 2), unit: "%" });
  return gauge({ value: attainment, low, high, target, min: least, max: 1, bad: "below", label });
}

/**
 * @param {HTMLElement} table
 * @param {Tenant[]} tenants
 * @param {number | null} target the run's own, for a tenant that has none
 * @param {boolean} ended
 */
export function showTenants(table, tenants, target, ended) {
  const [, tier, offered, attainment, range, ttft, tpot, shed, tokens] = heads(table);
  const lowest = Math.min(target ?? 1, ...tenants.map((tenant) => Math.min(tenant.low ?? 1, tenant.attainment ?? 1)));
  const least = Math.max(0, 1 - (1 - lowest) * 1.3 - 0.005);
  const rows = tenants.map((tenant) =>
    h(
      "tr", {},
      cell("", tenant.tenant, "main"),
      cell(tier, tenant.tier ? h("span", { class: "tag" }, tenant.tier) : "–"),
      cell(offered, num(tenant.offered), "n"),
      cell(attainment, perCent(tenant.attainment, 2), "n"),
      cell(range, interval({ ...tenant, target: tenant.target ?? target }, least), "all"),
      cell(ttft, p99(tenant.ttft_p99_ms, tenant.ttft_rough_ms, 0), "n"),
      cell(tpot, p99(tenant.tpot_p99_ms, tenant.tpot_rough_ms, 1), "n"),
      cell(shed, num(tenant.shed), "n"),
      cell(tokens, perCent(tenant.token_share, 1), "n"),
    ),
  );
  fill(table, rows, say(ended ? "noTenantsEnded" : "noTenants"));
}
