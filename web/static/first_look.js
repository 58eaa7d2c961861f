// Removes the overlay with the newest numbers that is visible before Streamlit has started (web/server/first_look.py),
// once the page itself is drawn or after a timeout.

import { ROOT } from "./streamlit_dom.js";
import { COMPLETE_CLASS } from "./reveal_page.js";

const GIVE_UP_MS = 15000;

/**
 * @param {HTMLElement} overlay
 * @param {Element} root
 */
function removeWhenDrawn(overlay, root) {
  const drawnSelector = `:is(${overlay.dataset.drawn})`;
  const isDrawn = () => root.classList.contains(COMPLETE_CLASS) && root.querySelector(drawnSelector) !== null;
  const observer = new MutationObserver(() => isDrawn() && remove());
  observer.observe(root, { subtree: true, childList: true, attributes: true });
  const remove = () => {
    observer.disconnect();
    overlay.remove();
  };
  setTimeout(remove, GIVE_UP_MS);
}

const overlay = document.querySelector(".pw-first");
const root = document.querySelector(ROOT);
if (overlay instanceof HTMLElement && root) removeWhenDrawn(overlay, root);
else overlay?.remove();
