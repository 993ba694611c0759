// @ts-check
/** Making elements without markup in strings, so that no text is ever taken for HTML. */
const SVG = "http://www.w3.org/2000/svg";

/**
 * An HTML element. Strings become attributes; other values become properties where there is one.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node | string | null | undefined)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (typeof value !== "string" && value !== true && name in element) /** @type {any} */ (element)[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

/**
 * An SVG element.
 * @param {string} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {...Node} children
 * @returns {SVGElement}
 */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/**
 * One of the page's symbols, by the glossary's word.
 * @param {string} name
 * @param {number} [size]
 */
export function icon(name, size = 12) {
  const known = document.getElementById(`i-${name}`) ? name : "none";
  return s("svg", { class: "icon", width: size, height: size, "aria-hidden": "true" }, s("use", { href: `#i-${known}` }));
}

/**
 * Set text only where it differs, so that a live page writes (and a screen reader hears) little.
 * @param {Element | null} element
 * @param {string} text
 */
export function write(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

/**
 * The JSON of a <script type="application/json">, or null.
 * @param {string} id
 * @returns {any}
 */
export function json(id) {
  const element = document.getElementById(id);
  return element ? JSON.parse(element.textContent ?? "null") : null;
}
