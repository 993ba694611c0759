// @ts-check
/** The form of an A/B: a field is shown only while the field it belongs to has one of its values. */
const form = /** @type {HTMLFormElement} */ (document.getElementById("comparison"));

function fit() {
  form.querySelectorAll("[data-when]").forEach((input) => {
    const [name, values] = (/** @type {HTMLElement} */ (input).dataset.when ?? "").split("=");
    const chosen = String(new FormData(form).get(name));
    const field = /** @type {HTMLElement | null} */ (input.closest(".field"));
    if (field) field.hidden = !values.split(" ").includes(chosen);
  });
}

form.addEventListener("input", fit);
fit();
