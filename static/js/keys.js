// @ts-check
/** Single-key shortcuts: listed under "?", silent while one types, and turned off by whoever wants. */
import { h } from "./dom.js";
import { say } from "./words.js";

const OFF = "headway.shortcuts";
/** @type {Map<string, {words: string, act: () => void}>} */
const shortcuts = new Map();

export const enabled = () => localStorage.getItem(OFF) !== "off";

/**
 * @param {string} key as KeyboardEvent.key
 * @param {string} words what it does, a key of words.js
 * @param {() => void} act
 */
export function shortcut(key, words, act) {
  shortcuts.set(key, { words, act });
}

function help() {
  const rows = [...shortcuts].flatMap(([key, { words }]) => [h("dt", {}, h("kbd", {}, key === " " ? "space" : key)), h("dd", {}, say(words))]);
  const dialog = /** @type {HTMLDialogElement} */ (
    h("dialog", { "aria-label": say("shortcuts") }, h("h2", {}, say("shortcuts")), h("dl", { class: "kv" }, ...rows), h("div", { class: "row" }, h("button", { class: "btn", type: "button", "data-close": true, autofocus: "" }, say("close"))))
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

const TYPING = "input, select, textarea, [contenteditable], dialog";

/** Keys that the focused element wants for itself. @param {KeyboardEvent} event */
function taken({ target, key }) {
  if (!(target instanceof Element)) return false;
  return target.closest(key === " " ? `${TYPING}, button, summary` : TYPING) != null;
}

export function startKeys() {
  shortcut("?", "keyHelp", help);
  document.addEventListener("keydown", (event) => {
    if (!enabled() || event.ctrlKey || event.metaKey || event.altKey || taken(event)) return;
    const found = shortcuts.get(event.key);
    if (!found) return;
    event.preventDefault();
    found.act();
  });
  document.querySelectorAll("[data-shortcuts-toggle]").forEach((element) => {
    const box = /** @type {HTMLInputElement} */ (element);
    box.checked = enabled();
    box.addEventListener("change", () => (box.checked ? localStorage.removeItem(OFF) : localStorage.setItem(OFF, "off")));
  });
}
