// On every page: an amber bar while Pitwall does not answer, in place of Streamlit's dialog about the reader's internet.

import { APP, CONNECTED, DIALOG_CLOSES } from "./streamlit_dom.js";

const LOOK_EVERY_MS = 500;
const PATIENCE_MS = 1500; // a connection that is back sooner was never missed
const ANSWER_MS = 4000; // a network that swallows packets refuses nothing
const NOT_THERE = new Set([502, 504]); // what a proxy says for a server that is gone
const WORDS = "Pitwall does not answer. Your servers keep running. This page continues by itself.";
const LOST = "pw-lost"; // a class of the root: streamlit_dom.css hides the dialog
const health = new URL("../../healthz", import.meta.url);

let since = 0; // when the connection was first missed
let isAsking = false;

const bar = document.createElement("p");
bar.className = "pw-lost-bar";
bar.setAttribute("role", "status");
bar.hidden = true;

/** Whether Pitwall is gone: a connection that was refused has its own answer (share_end.js). */
async function isGone() {
  try {
    return NOT_THERE.has((await fetch(health, { cache: "no-store", signal: AbortSignal.timeout(ANSWER_MS) })).status);
  } catch {
    return true;
  }
}

/** @param {boolean} isLost */
function tell(isLost) {
  if (bar.hidden !== isLost) return;
  bar.hidden = !isLost;
  bar.textContent = isLost ? WORDS : "";
  document.documentElement.classList.toggle(LOST, isLost);
}

async function look() {
  if (!document.querySelector(APP)) return; // Streamlit has not begun
  if (document.querySelector(CONNECTED)) {
    since = 0;
    tell(false);
    return;
  }
  since ||= performance.now();
  if (isAsking || performance.now() - since < PATIENCE_MS) return;
  isAsking = true;
  if (bar.hidden && (await isGone()) && !document.querySelector(CONNECTED)) tell(true);
  isAsking = false;
  // Hidden alone it would still keep the page from being scrolled and read.
  if (!bar.hidden) /** @type {HTMLElement | null} */ (document.querySelector(DIALOG_CLOSES))?.click();
}

document.body.append(bar);
setInterval(look, LOOK_EVERY_MS);
