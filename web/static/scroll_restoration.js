// Saves the scroll positions of a page and its table and restores them after Back, Forward and a reload. A page that is
// opened by a link starts at the top; Streamlit scrolls there only if it cleared the previous page first.

import { IDLE_APP, PAGE_SCROLLER, TABLE_SCROLLER } from "./streamlit_dom.js";

const SCROLLERS = [PAGE_SCROLLER, TABLE_SCROLLER]; // restored on the first element that matches each
const CHECK_EVERY_MS = 50;
const SCRIPT_STARTS_WITHIN_MS = 500;
const HOLD_MS = 500; // a table is drawn, and gets its height, after the script has finished
const GIVE_UP_MS = 10_000;
const USER_INPUT_EVENTS = ["wheel", "touchstart", "pointerdown", "keydown"]; // these end a restore: the user scrolls

let restoreTimer = 0;
let pressedUrl = ""; // where the last press was: Streamlit may clear the page before the URL changes
let shownPath = location.pathname;

/** @param {string} selector */
const storageKey = (selector) => `pitwall-scroll-${selector}-${location.pathname}${location.search}`;

/** @param {Event} event */
function savePosition({ target }) {
  if (restoreTimer || pressedUrl === location.href || !(target instanceof Element)) return;
  const scroller = SCROLLERS.find((selector) => target.matches(selector));
  if (!scroller) return;
  if (target.scrollTop) sessionStorage.setItem(storageKey(scroller), String(target.scrollTop));
  else sessionStorage.removeItem(storageKey(scroller));
}

function handleUserInput() {
  pressedUrl = "";
  stopRestoring();
}

function stopRestoring() {
  clearInterval(restoreTimer);
  restoreTimer = 0;
}

/**
 * @param {{ selector: string, top: number }} position
 * @returns {boolean} whether the element is at the position: a page that is still being drawn is too short
 */
function scrollToPosition({ selector, top }) {
  const element = document.querySelector(selector);
  element?.scrollTo({ top });
  return Math.abs((element?.scrollTop ?? 0) - top) < 1;
}

/** @param {boolean} hasStarted whether the script that runs is already that of the page to restore */
function restorePositions(hasStarted) {
  stopRestoring();
  const saved = SCROLLERS.map((selector) => ({ selector, top: Number(sessionStorage.getItem(storageKey(selector))) }));
  const positions = saved.filter(({ top }) => top);
  if (!positions.length) return;
  const startedAt = performance.now();
  let restoredAt = 0; // 0 while an element is not at its position
  const check = () => {
    const now = performance.now();
    const isIdle = Boolean(document.querySelector(IDLE_APP));
    hasStarted ||= !isIdle || now - startedAt > SCRIPT_STARTS_WITHIN_MS;
    const isRestored = hasStarted && isIdle && positions.map(scrollToPosition).every(Boolean);
    restoredAt = isRestored ? restoredAt || now : 0;
    if (now - (restoredAt || now) > HOLD_MS || now - startedAt > GIVE_UP_MS) stopRestoring();
  };
  restoreTimer = setInterval(check, CHECK_EVERY_MS);
}

function scrollNewPageToTop() {
  if (shownPath !== location.pathname) document.querySelector(PAGE_SCROLLER)?.scrollTo({ top: 0 });
  shownPath = location.pathname;
}

for (const event of USER_INPUT_EVENTS) {
  document.addEventListener(event, handleUserInput, { capture: true, passive: true });
}
document.addEventListener("click", () => (pressedUrl = location.href), { capture: true });
document.addEventListener("scroll", savePosition, { capture: true, passive: true });
const pushState = history.pushState.bind(history);
history.pushState = (...entry) => {
  pushState(...entry);
  scrollNewPageToTop();
};
addEventListener("popstate", ({ isTrusted }) => {
  scrollNewPageToTop();
  if (isTrusted) restorePositions(false); // an untrusted event is Pitwall's own, from a link (navigate.js)
});
const [pageLoad] = performance.getEntriesByType("navigation");
if (pageLoad instanceof PerformanceNavigationTiming && pageLoad.type !== "navigate") restorePositions(true);
