// @ts-check
/**
 * Light, dark or the system's. The choice is a cookie, so that the server writes it into the page
 * and no page flashes in the wrong one.
 */
import { say } from "./words.js";

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");
/** @type {Set<() => void>} */
const listeners = new Set();
/** @type {Map<string, string>} */
const cache = new Map();
const probe = document.createElement("i");
probe.hidden = true;

function changed() {
  cache.clear();
  listeners.forEach((listener) => listener());
}

/** Call back after each change of theme. @param {() => void} listener */
export function onTheme(listener) {
  listeners.add(listener);
}

/**
 * A token's colour as a canvas can use it.
 * @param {string} token as in "s1"
 * @param {number} [alpha]
 */
export function color(token, alpha = 1) {
  const key = `${token} ${alpha}`;
  let found = cache.get(key);
  if (found == null) {
    if (!probe.isConnected) document.body.append(probe);
    probe.style.color = alpha === 1 ? `var(--${token})` : `color-mix(in srgb, var(--${token}) ${alpha * 100}%, transparent)`;
    found = getComputedStyle(probe).color;
    cache.set(key, found);
  }
  return found;
}

/** auto → light → dark → auto */
export function nextTheme() {
  const next = { light: "dark", dark: "" }[root.dataset.theme ?? ""] ?? "light";
  if (next) root.dataset.theme = next;
  else delete root.dataset.theme;
  document.cookie = `theme=${next}; path=/; max-age=${next ? 31536000 : 0}; samesite=lax`;
  label();
  changed();
}

function label() {
  const theme = root.dataset.theme ?? "auto";
  document.querySelectorAll("[data-theme-toggle]").forEach((button) => (button.textContent = say(theme)));
}

export function startTheme() {
  system.addEventListener("change", changed);
  document.querySelectorAll("[data-theme-toggle]").forEach((button) => button.addEventListener("click", nextTheme));
  label();
}
