// Shows an amber bar on every page while Pitwall does not answer. It replaces Streamlit's dialog, which blames the
// user's internet connection.

import { APP, CONNECTED_APP, DIALOG_CLOSE_BUTTON } from "./streamlit_dom.js";

const CHECK_EVERY_MS = 500;
const PATIENCE_MS = 1500; // shorter interruptions are not reported
const REQUEST_TIMEOUT_MS = 4000; // a network that drops packets never refuses the request
const SERVER_DOWN_STATUSES = new Set([502, 504]); // a proxy's answers if the server is down
const MESSAGE = "Pitwall does not answer. Your servers keep running. This page continues by itself.";
const LOST_CLASS = "pw-lost"; // on the root element: streamlit_dom.css hides the dialog
const healthUrl = new URL("../../healthz", import.meta.url);

let lostAt = 0; // 0 while connected
let isChecking = false;

const bar = document.createElement("p");
bar.className = "pw-lost-bar";
bar.setAttribute("role", "status");
bar.hidden = true;

/** Whether Pitwall does not answer. If it refuses the viewer, share_end.js handles that. */
async function isUnreachable() {
  try {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    return SERVER_DOWN_STATUSES.has((await fetch(healthUrl, { cache: "no-store", signal })).status);
  } catch {
    return true;
  }
}

/** @param {boolean} isLost */
function showBar(isLost) {
  if (bar.hidden !== isLost) return;
  bar.hidden = !isLost;
  bar.textContent = isLost ? MESSAGE : "";
  document.documentElement.classList.toggle(LOST_CLASS, isLost);
}

async function checkConnection() {
  if (!document.querySelector(APP)) return; // Streamlit has not started yet
  if (document.querySelector(CONNECTED_APP)) {
    lostAt = 0;
    showBar(false);
    return;
  }
  lostAt ||= performance.now();
  if (isChecking || performance.now() - lostAt < PATIENCE_MS) return;
  isChecking = true;
  if (bar.hidden && (await isUnreachable()) && !document.querySelector(CONNECTED_APP)) showBar(true);
  isChecking = false;
  // The dialog is closed, not only hidden: even hidden, it would block scrolling and reading the page.
  if (!bar.hidden) /** @type {HTMLElement | null} */ (document.querySelector(DIALOG_CLOSE_BUTTON))?.click();
}

document.body.append(bar);
setInterval(checkConnection, CHECK_EVERY_MS);
