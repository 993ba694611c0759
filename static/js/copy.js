// @ts-check
/** Copy buttons. */
import { toast } from "./dialog.js";
import { say } from "./words.js";

export function startCopy() {
  document.addEventListener("click", async (event) => {
    const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-copy]"));
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy ?? "");
      toast(say("copied"));
    } catch {
      toast(say("notCopied"));
    }
  });
}
