// @ts-check
/** Other runs on this run's address: once their numbers have mixed, the notice stays. */
import { h } from "../dom.js";

/**
 * @param {HTMLElement} notice
 * @param {{name: string, url: string}[]} others that load the address now
 */
export function showMixed(notice, others) {
  const list = notice.querySelector("[data-part=others]");
  if (!list) return;
  const known = new Set([...list.querySelectorAll("a")].map((link) => link.getAttribute("href")));
  for (const { name, url } of others.filter((one) => !known.has(one.url))) {
    if (list.querySelector("a")) list.append(", ");
    list.append(h("a", { href: url }, name));
  }
  if (others.length) notice.hidden = false;
}
