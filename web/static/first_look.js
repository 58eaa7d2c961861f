// Takes the first look (web/server/first_look.py) off the page once the page itself shows what it announced, or cannot.

import { ROOT } from "./streamlit_dom.js";
import { WHOLE } from "./whole.js";

const GIVE_UP_MS = 15000;

/**
 * @param {HTMLElement} look
 * @param {Element} root
 */
function watch(look, root) {
  const drawn = `:is(${look.dataset.drawn})`;
  const isDrawn = () => root.classList.contains(WHOLE) && root.querySelector(drawn) !== null;
  const watching = new MutationObserver(() => isDrawn() && leave());
  watching.observe(root, { subtree: true, childList: true, attributes: true });
  const leave = () => {
    watching.disconnect();
    look.remove();
  };
  setTimeout(leave, GIVE_UP_MS);
}

const look = document.querySelector(".pw-first");
const root = document.querySelector(ROOT);
if (look instanceof HTMLElement && root) watch(look, root);
else look?.remove();
