// @ts-check
/** Dialogs that ask first, menus that close, toasts, and the focus on what has to be put right. */
import { h } from "./dom.js";

/** A few words for five seconds: for what is done, never for what must be decided. @param {string} text */
export function toast(text) {
  const box = document.getElementById("toasts");
  const element = h("div", { class: "toast" }, text);
  box?.append(element);
  setTimeout(() => element.remove(), 5000);
}

/** @param {string} id */
export function open(id) {
  const dialog = /** @type {HTMLDialogElement | null} */ (document.getElementById(id));
  if (dialog && !dialog.open) dialog.showModal();
}

export function startDialogs() {
  document.addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target);
    const opener = target.closest("[data-open]");
    if (opener) open(/** @type {HTMLElement} */ (opener).dataset.open ?? "");
    if (target.closest("[data-close]") || target instanceof HTMLDialogElement) target.closest("dialog")?.close();
    document.querySelectorAll("details.menu[open]").forEach((menu) => menu.contains(target) || menu.removeAttribute("open"));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const menu = document.querySelector("details.menu[open]");
    menu?.removeAttribute("open");
    /** @type {HTMLElement | null | undefined} */ (menu?.querySelector("summary"))?.focus();
  });
  /** @type {HTMLElement | null} */ (document.querySelector("[data-focus]"))?.focus();
}
