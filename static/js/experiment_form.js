// @ts-check
/** The form of a play: what belongs to one way of playing, or to one system, is shown only while
 * that is chosen, or where it is what was wrong. `data-when="name=a|b&other=c"`. */
const form = /** @type {HTMLFormElement} */ (document.getElementById("experiment"));

function fit() {
  form.querySelectorAll("[data-when]").forEach((input) => {
    const when = /** @type {HTMLElement} */ (input).dataset.when ?? "";
    const given = new FormData(form);
    const fits = when.split("&").every((part) => {
      const [name, values] = part.split("=");
      return values.split("|").includes(String(given.get(name)));
    });
    const field = /** @type {HTMLElement | null} */ (input.closest(".field"));
    if (field) field.hidden = !fits && !("error" in field.dataset);
  });
}

form.addEventListener("input", fit);
fit();
