// The keyboard's focus on a slider that the page replaces by another of the same name, as it does with that of a log at
// each of its positions: the focus passes on, so that several steps can be taken.

import { PAGE, SLIDER } from "./streamlit_dom.js";

/** @type {HTMLElement | undefined} */
let focused;
const replacements = new MutationObserver(passOn);

/** @param {Event} event */
function follow({ target }) {
  replacements.disconnect();
  focused = target instanceof HTMLElement && target.matches(SLIDER) ? target : undefined;
  const page = focused?.closest(PAGE);
  if (page) replacements.observe(page, { childList: true, subtree: true });
}

function passOn() {
  if (!focused || focused.isConnected || document.activeElement !== document.body) return;
  const name = focused.getAttribute("aria-label");
  const successor = [...document.querySelectorAll(SLIDER)].find((slider) => slider.ariaLabel === name);
  if (successor instanceof HTMLElement) successor.focus({ preventScroll: true });
}

document.addEventListener("focusin", follow);
document.addEventListener("pointerdown", follow, { capture: true, passive: true });
