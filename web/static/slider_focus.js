// Keeps the keyboard focus on a slider when the page replaces it with another of the same name, so that the user can
// take several steps with the arrow keys. The slider of a log is replaced at each of its positions.

import { PAGE, SLIDER } from "./streamlit_dom.js";

/** @type {HTMLElement | undefined} */
let focusedSlider;
const pageObserver = new MutationObserver(focusReplacement);

/** @param {Event} event */
function trackFocus({ target }) {
  pageObserver.disconnect();
  focusedSlider = target instanceof HTMLElement && target.matches(SLIDER) ? target : undefined;
  const page = focusedSlider?.closest(PAGE);
  if (page) pageObserver.observe(page, { childList: true, subtree: true });
}

function focusReplacement() {
  if (!focusedSlider || focusedSlider.isConnected || document.activeElement !== document.body) return;
  const name = focusedSlider.getAttribute("aria-label");
  const replacement = [...document.querySelectorAll(SLIDER)].find((slider) => slider.ariaLabel === name);
  if (replacement instanceof HTMLElement) replacement.focus({ preventScroll: true });
}

document.addEventListener("focusin", trackFocus);
document.addEventListener("pointerdown", trackFocus, { capture: true, passive: true });
