// @ts-check
/** What the policy decided: kept in order, told apart by kind, listed with the inputs. */
import { h, write } from "../dom.js";
import { clock, num, some } from "../numbers.js";
import { say } from "../words.js";

/** @typedef {{n?: number, at: number, point?: string, law?: string, before: number, after: number, reason: string, meaning?: string, shadow?: boolean, inputs: Record<string, number | null>}} Decision */

const LISTED = 200;

/** @param {Decision} decision @returns {"undo" | "cut" | "grow" | "hold"} */
export function kind({ reason, before, after }) {
  if (reason === "undo") return "undo";
  return after < before ? "cut" : after > before ? "grow" : "hold";
}

/** @param {Decision} decision whether it is about the limit, and not about one request */
const limits = ({ point }) => !point || point === "concurrency";

export class Decisions {
  constructor() {
    /** @type {Decision[]} those of concurrency, in order */
    this.list = [];
    /** @type {Decision[]} those of other points that a page is told of, in order */
    this.others = [];
    /** @type {Set<string>} */
    this.known = new Set();
  }

  /** @param {Decision[]} decisions @param {boolean} [anew] */
  take(decisions, anew = false) {
    if (anew) {
      this.list = [];
      this.others = [];
      this.known.clear();
    }
    for (const decision of decisions) {
      const key = decision.n != null ? String(decision.n) : `${decision.point} ${decision.at} ${decision.reason} ${decision.before} ${decision.after}`;
      if (this.known.has(key)) continue;
      this.known.add(key);
      const list = limits(decision) ? this.list : this.others;
      let at = list.length;
      while (at > 0 && list[at - 1].at > decision.at) at--;
      list.splice(at, 0, decision);
    }
  }

  /** One sentence about them all. @param {boolean} ended whether none can come any more */
  sentence(ended) {
    const moved = this.list.filter((decision) => kind(decision) !== "hold");
    if (!this.list.length) return say(ended ? "traceNoneEnded" : "traceNone");
    if (!moved.length) return say("traceQuiet", { limit: num(this.list[this.list.length - 1].after) });
    const count = (/** @type {string} */ which) => moved.filter((decision) => kind(decision) === which).length;
    const limits = moved.flatMap(({ before, after }) => [before, after]);
    const [low, high] = [num(Math.min(...limits)), num(Math.max(...limits))];
    const parts = ["cut", "grow", "undo"].filter(count).map((which) => say(`${which}Count${count(which) === 1 ? "One" : ""}`, { n: num(count(which)) }));
    return say("traceSummary", { parts: parts.join(", "), low, high });
  }
}

/** @param {Decision} decision */
export function inputs(decision) {
  return Object.entries(decision.inputs ?? {}).map(([name, value]) => `${name} ${some(value)}`).join(" · ");
}

/**
 * What the inputs that are listed mean, for whoever has not read the law.
 * @param {HTMLElement | null} box a details with a dl
 * @param {Decision[]} list
 * @param {Record<string, string>} meanings
 */
export function explain(box, list, meanings) {
  const names = [...new Set(list.flatMap((decision) => Object.keys(decision.inputs ?? {})))].filter((name) => meanings[name]).sort();
  const said = box?.querySelector("dl");
  if (!box || !said) return;
  box.hidden = !names.length;
  if (said.dataset.names === names.join()) return;
  said.dataset.names = names.join();
  said.replaceChildren(...names.flatMap((name) => [h("dt", { class: "mono" }, name), h("dd", {}, meanings[name])]));
}

/**
 * The newest first; a row is drawn once.
 * @param {HTMLElement} body a tbody
 * @param {Decision[]} list
 * @param {(decision: Decision) => void} choose
 * @param {string} none what stands there while nothing has moved
 */
export function listDecisions(body, list, choose, none) {
  const newest = list.filter((decision) => kind(decision) !== "hold").slice(-LISTED).reverse();
  const rows = new Map([...body.children].map((row) => [/** @type {any} */ (row).decision, row]));
  body.replaceChildren(
    ...newest.map((decision) => {
      const old = rows.get(decision);
      if (old) return old;
      const button = h("button", { class: "link", type: "button" }, clock(decision.at));
      button.addEventListener("click", () => choose(decision));
      const whose = decision.shadow ? h("span", { class: "tag whose" }, say("shadow")) : null;
      const where = limits(decision) ? null : h("span", { class: "tag" }, decision.point ?? "");
      const reason = h("td", {}, whose, where, h("span", { class: "mono" }, decision.reason), h("span", { class: "sub" }, decision.meaning ?? "", decision.meaning ? " " : "", inputs(decision)));
      const row = h("tr", {}, h("td", { class: "num" }, button), h("td", { class: "n" }, `${num(decision.before)} → `, h("b", {}, num(decision.after))), reason);
      /** @type {any} */ (row).decision = decision;
      return row;
    }),
  );
  if (!newest.length) body.append(h("tr", {}, h("td", { class: "none", colspan: "3" }, none)));
  const note = document.getElementById("decisions-note");
  write(note, list.length > newest.length ? say("traceMore", { shown: num(newest.length), all: num(list.length) }) : "");
}

/** @param {HTMLElement} body @param {Decision} decision */
export function select(body, decision) {
  for (const row of body.children) {
    const chosen = /** @type {any} */ (row).decision === decision;
    if (chosen) row.setAttribute("aria-selected", "true");
    else row.removeAttribute("aria-selected");
    if (chosen) row.scrollIntoView({ block: "nearest" });
  }
}
