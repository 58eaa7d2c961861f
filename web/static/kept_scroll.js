// Where a page and its table were scrolled to: there again by Back, Forward and a reload. By a link a page begins at its
// top; in Streamlit it does so only where the page before it was cleared away first.

import { PAGE_SCROLLS, SCRIPT_HAS_RUN, TABLE_SCROLLS } from "./streamlit_dom.js";

const SCROLLS = [PAGE_SCROLLS, TABLE_SCROLLS]; // the first of each
const LOOK_EVERY_MS = 50;
const BEGINS_WITHIN_MS = 500; // the script of the page that is led to
const HOLDS_MS = 500; // a table is drawn, and takes its height, after the script
const GIVE_UP_MS = 10_000;
const TAKES_OVER = ["wheel", "touchstart", "pointerdown", "keydown"]; // what somebody does is not undone

let looking = 0;
let pressedAt = ""; // the address where something was pressed: the page may be cleared before that address changes
let page = location.pathname;

/** @param {string} selector */
const place = (selector) => `pitwall-scroll-${selector}-${location.pathname}${location.search}`;

/** @param {Event} event */
function keep({ target }) {
  const selector = target instanceof Element && SCROLLS.find((one) => target.matches(one));
  if (looking || pressedAt === location.href || !selector || !(target instanceof Element)) return;
  if (target.scrollTop) sessionStorage.setItem(place(selector), String(target.scrollTop));
  else sessionStorage.removeItem(place(selector));
}

function takeOver() {
  pressedAt = "";
  stop();
}

function stop() {
  clearInterval(looking);
  looking = 0;
}

/**
 * @param {{ selector: string, top: number }} wanted
 * @returns {boolean} whether it is scrolled as far: a page that is still drawn is too short
 */
function scroll({ selector, top }) {
  const found = document.querySelector(selector);
  found?.scrollTo({ top });
  return Math.abs((found?.scrollTop ?? 0) - top) < 1;
}

/** @param {boolean} hasBegun whether the script that runs is that of the page that is led to */
function restore(hasBegun) {
  stop();
  const kept = SCROLLS.map((selector) => ({ selector, top: Number(sessionStorage.getItem(place(selector))) }));
  const wanted = kept.filter(({ top }) => top);
  if (!wanted.length) return;
  const began = performance.now();
  let since = 0; // when all stood where it should
  const look = () => {
    const now = performance.now();
    const isAtRest = Boolean(document.querySelector(SCRIPT_HAS_RUN));
    hasBegun ||= !isAtRest || now - began > BEGINS_WITHIN_MS;
    const isThere = hasBegun && isAtRest && wanted.map(scroll).every(Boolean);
    since = isThere ? since || now : 0;
    if (now - (since || now) > HOLDS_MS || now - began > GIVE_UP_MS) stop();
  };
  looking = setInterval(look, LOOK_EVERY_MS);
}

function beginAtTop() {
  if (page !== location.pathname) document.querySelector(PAGE_SCROLLS)?.scrollTo({ top: 0 });
  page = location.pathname;
}

for (const event of TAKES_OVER) document.addEventListener(event, takeOver, { capture: true, passive: true });
document.addEventListener("click", () => (pressedAt = location.href), { capture: true });
document.addEventListener("scroll", keep, { capture: true, passive: true });
const push = history.pushState.bind(history);
history.pushState = (...address) => {
  push(...address);
  beginAtTop();
};
addEventListener("popstate", ({ isTrusted }) => {
  beginAtTop();
  if (isTrusted) restore(false); // not where a link leads by our hand
});
const [opened] = performance.getEntriesByType("navigation");
if (opened instanceof PerformanceNavigationTiming && opened.type !== "navigate") restore(true);
