// @ts-check
/** The form of a play: what belongs to one way of playing is shown only while that is chosen. */
const form = /** @type {HTMLFormElement} */ (document.getElementById("experiment"));

function fit() {
  form.querySelectorAll("[data-when]").forEach((input) => {
    const [name, value] = (/** @type {HTMLElement} */ (input).dataset.when ?? "").split("=");
    const field = /** @type {HTMLElement | null} */ (input.closest(".field"));
    if (field) field.hidden = String(new FormData(form).get(name)) !== value;
  });
}

form.addEventListener("input", fit);
fit();
