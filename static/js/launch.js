// @ts-check
/** The launch form: what it would send is drawn from the very schedule, while the form is filled. */
import { Chart } from "./chart.js";
import { nice } from "./chart/scales.js";
import { h, icon, write } from "./dom.js";
import { clock, num } from "./numbers.js";
import { say } from "./words.js";

/** @typedef {{low: number, high: number, count: number}} Bar */
/** @typedef {{duration_s: number, busy: string, alone: string, requests: number | null, prompt_tokens: number | null, output_tokens: number | null, exact: boolean, mean_prompt_tokens: number, mean_output_tokens: number, rate: [number, number][], concurrency: number | null, prompt_lengths: Bar[], output_lengths: Bar[]}} Preview */

const $ = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const form = /** @type {HTMLFormElement} */ ($("launch"));
const WAIT_MS = 250;
/** @type {AbortController | null} */
let asking = null;
/** @type {number | undefined} */
let waiting;

/** @param {string} id @param {string} title */
function lengths(id, title) {
  const xTicks = (/** @type {[number, number]} */ [low, high], /** @type {number} */ width) => nice(low, high, Math.max(2, width / 90)).ticks.filter((x) => x >= low && x <= high);
  return new Chart($(id), { title, sub: say("tokens"), height: 120, y: { min: 0 }, xName: say("bucket"), xText: (x) => num(x), axisText: (x) => num(x), xTicks, series: [{ label: say("requests"), color: "s1", fill: 0.35, bars: true, width: 1 }] });
}
const rate = new Chart($("preview-rate"), { title: say("rate"), sub: say("requestsPerSecond"), unit: "/s", height: 150, y: { min: 0 }, series: [{ label: say("scheduled"), color: "s1", step: true, fill: 0.14, d: 1 }] });
const prompt = lengths("preview-prompt", say("promptTokens"));
const output = lengths("preview-output", say("outputTokens"));

/** @param {Chart} chart @param {Bar[]} bars @param {number} mean @param {boolean} exact */
function drawLengths(chart, bars, mean, exact) {
  const x = bars.map(({ low }) => low);
  const first = bars[0]?.low ?? 0;
  const width = bars.length > 1 ? bars[1].low - first : Math.max(1, first / 8);
  const end = bars[bars.length - 1];
  const last = (end?.low ?? 0) + width;
  const more = bars.length > 1 && end.high >= last ? say("andMore", { low: num(end.low) }) : "";
  chart.options.xText = (at) => (more && at === end.low ? more : num(at));
  chart.draw({ x, columns: [bars.map(({ count }) => count)], weak: [null], bands: [], spans: more ? [{ from: end.low, to: last, kind: "more", label: more }] : [], range: bars.length > 1 ? [first, last] : [Math.max(0, first - 4 * width), first + 5 * width] });
  chart.summarise(end ? say(exact ? "lengths" : "lengthsSampled", { mean: num(mean), longest: num(end.high) }) : "");
}

/** What a chosen policy asks of other fields, before they are filled in. @param {string} text */
function hint(text) {
  const field = form.querySelector('[name="policy_version"]')?.closest(".field");
  const old = field?.querySelector("[data-hint]");
  if (old) write(old, text);
  else if (text) field?.append(h("span", { class: "help", "data-hint": true }, text));
}

/** @param {Preview} seen */
function show(seen) {
  hint(seen.alone ?? "");
  const total = (/** @type {number | null} */ value) => (value == null ? "–" : num(value));
  const facts = [
    [say("requests"), total(seen.requests)], [say("duration"), clock(seen.duration_s)],
    [say("promptTotal"), total(seen.prompt_tokens)], [say("outputTotal"), total(seen.output_tokens)],
  ];
  $("preview-facts").replaceChildren(...facts.map(([name, value]) => h("dl", {}, h("dt", {}, name), h("dd", {}, value))));
  const values = { requests: total(seen.requests), minutes: clock(seen.duration_s), prompt: total(seen.prompt_tokens), output: total(seen.output_tokens), slots: num(seen.concurrency) };
  write($("preview-said"), say(seen.requests == null ? "previewClosed" : "previewSentence", values));
  $("preview-rate").hidden = seen.requests == null;
  const step = seen.rate.length > 1 ? seen.rate[1][0] - seen.rate[0][0] : seen.duration_s;
  const x = [...seen.rate.map(([at]) => at), seen.duration_s];
  const column = seen.rate.map(([, value]) => value);
  rate.draw({ x, columns: [[...column, column[column.length - 1] ?? null]], weak: [null], bands: [], spans: [], range: [0, seen.duration_s] });
  const most = Math.max(0, ...column);
  rate.summarise(seen.requests == null ? "" : say("rateSaid", { mean: num(seen.requests / seen.duration_s, 1), most: num(most, 1), step: num(step, step % 1 ? 1 : 0) }));
  drawLengths(prompt, seen.prompt_lengths, seen.mean_prompt_tokens, seen.exact);
  drawLengths(output, seen.output_lengths, seen.mean_output_tokens, seen.exact);
}

/** @param {Record<string, string[]>} errors beside the fields they are about; of those touched so far */
function mark(errors) {
  form.querySelectorAll(".err[data-live]").forEach((element) => element.remove());
  form.querySelectorAll(".field").forEach((field) => {
    const input = /** @type {HTMLInputElement | null} */ (field.querySelector("[name]"));
    const found = (input && errors[input.name]) ?? [];
    const served = field.querySelector(".errs") != null;
    field.toggleAttribute("data-error", served || found.length > 0);
    input?.setAttribute("aria-invalid", String(served || found.length > 0));
    if (!served) found.forEach((text) => field.append(h("p", { class: "err", "data-live": true }, icon("bad", 10), text)));
  });
  const rare = /** @type {HTMLDetailsElement | null} */ (document.getElementById("rare"));
  if (rare?.querySelector("[data-error]")) rare.open = true;
  const rest = errors.__all__ ?? [];
  if (Object.keys(errors).length) write($("preview-said"), rest.length ? rest.join(" ") : say("previewFix"));
}

async function preview() {
  asking?.abort();
  asking = new AbortController();
  $("preview").setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(form.dataset.preview ?? "", { method: "POST", body: new FormData(form), signal: asking.signal, headers: { Accept: "application/json" } });
    if (answer.status !== 422 && !answer.ok) throw new Error(`HTTP ${answer.status}`);
    const said = await answer.json();
    mark(said.errors ?? {});
    $("preview-busy").hidden = !said.busy;
    write($("preview-busy").querySelector("p"), said.busy ?? "");
    if (answer.ok) show(said);
  } catch (error) {
    if (/** @type {Error} */ (error).name === "AbortError") return;
    write($("preview-said"), say("previewFailed", { why: /** @type {Error} */ (error).message }));
  }
  $("preview").removeAttribute("aria-busy");
}

/** Show a field only while the field it belongs to has one of its values. */
function fit() {
  form.querySelectorAll("[data-when]").forEach((input) => {
    const [name, values] = (/** @type {HTMLElement} */ (input).dataset.when ?? "").split("=");
    const chosen = String(new FormData(form).get(name));
    const field = /** @type {HTMLElement | null} */ (input.closest(".field"));
    if (field) field.hidden = !values.split(" ").includes(chosen);
  });
}

/** Each choice of a select is explained beside it, where a phone has room for a sentence. */
function explain() {
  form.querySelectorAll("select[data-says]").forEach((select) => {
    const { value, dataset } = /** @type {HTMLSelectElement} */ (select);
    write(select.closest(".field")?.querySelector(".help") ?? null, JSON.parse(dataset.says ?? "{}")[value] ?? "");
  });
}

form.addEventListener("input", (event) => {
  /** @type {Element} */ (event.target).closest(".field")?.querySelector(".errs")?.remove();
  fit();
  explain();
  clearTimeout(waiting);
  waiting = setTimeout(preview, WAIT_MS);
});
fit();
preview();
