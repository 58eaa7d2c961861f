// On a narrow screen the navigation is a drawer: it closes after its link was followed, and a page begins without it.

import { DRAWER_CLOSES, DRAWER_LINK } from "./streamlit_dom.js";

const REMEMBERED = "stSidebarCollapsed"; // Streamlit's keys of whether the drawer is open begin so

/** @param {MouseEvent} event */
function close({ target }) {
  if (!(target instanceof Element) || !target.closest(DRAWER_LINK)) return;
  setTimeout(() => /** @type {HTMLElement | null} */ (document.querySelector(DRAWER_CLOSES))?.click()); // the link first
}

function forget() {
  for (const name of Object.keys(localStorage)) if (name.startsWith(REMEMBERED)) localStorage.removeItem(name);
}

document.addEventListener("click", close);
addEventListener("pagehide", forget);
