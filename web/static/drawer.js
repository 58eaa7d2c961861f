// On a narrow screen the navigation is a drawer. This closes the drawer after one of its links is clicked, and keeps
// Streamlit from opening a page with the drawer still open.

import { DRAWER_CLOSE_BUTTON, DRAWER_LINK } from "./streamlit_dom.js";

const STORAGE_KEY_PREFIX = "stSidebarCollapsed"; // under such keys Streamlit stores whether the drawer is open

/** @param {MouseEvent} event */
function closeDrawer({ target }) {
  if (!(target instanceof Element) || !target.closest(DRAWER_LINK)) return;
  const clickClose = () => /** @type {HTMLElement | null} */ (document.querySelector(DRAWER_CLOSE_BUTTON))?.click();
  setTimeout(clickClose); // after the click on the link
}

function clearSavedState() {
  for (const key of Object.keys(localStorage)) if (key.startsWith(STORAGE_KEY_PREFIX)) localStorage.removeItem(key);
}

document.addEventListener("click", closeDrawer);
addEventListener("pagehide", clearSavedState);
