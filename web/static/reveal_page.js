// Hides the content of every page until its layout is final, so that widgets do not push each other around while they
// load: Streamlit shows a one-line skeleton in place of each widget whose code has not arrived yet.

import { IDLE_APP, PAGE, ROOT, SKELETON } from "./streamlit_dom.js";

export const COMPLETE_CLASS = "pw-whole"; // on the root element once the page is shown in full
const SETTLE_MS = 30;
const SETTLE_LIMIT_MS = 250; // a chart that is still being drawn already has its final size
const GIVE_UP_MS = 5000; // then a slow page shows what it has
const PLACEHOLDER_BARS = ["0 0 / 32% 1.6rem", "0 2.7rem / 64% 1rem", "0 5rem / 100% 17rem", "0 23.5rem / 100% 17rem"];
const BAR_FILL = "linear-gradient(var(--pw-panel), var(--pw-panel))";
// Until the page's script has finished, no position is final: placeholder bars stand in for the page.
const HIDE_PAGE_CSS = `
  :root :is(${PAGE}, ${PAGE} *) { visibility: hidden; }
  ${PAGE}::before { content: ""; visibility: visible; position: absolute; top: 4.95rem; height: 42rem;
    left: max(1rem, min(5rem, 5vw)); right: max(1rem, min(5rem, 5vw));
    background: ${PLACEHOLDER_BARS.map((bar) => `${BAR_FILL} ${bar} no-repeat`).join(", ")}; }`;
// After that, everything above the first skeleton is in its final position.
const BELOW_SKELETON = `:is(${SKELETON}, :has(${SKELETON})) ~ *`;
const HIDE_BELOW_CSS = `:root :is(${PAGE} ${BELOW_SKELETON}, ${PAGE} ${BELOW_SKELETON} *) { visibility: hidden; }`;

/** @param {Element} root */
function hideUntilComplete(root) {
  const hidingSheet = new CSSStyleSheet();
  hidingSheet.replaceSync(HIDE_PAGE_CSS);
  document.adoptedStyleSheets.push(hidingSheet);
  let settleTimer = 0;
  let isTopShown = false;
  let completeAt = 0; // 0 while the page is incomplete
  const check = () => {
    clearTimeout(settleTimer);
    const hasRun = document.querySelector(IDLE_APP);
    if (hasRun && !isTopShown) showTop();
    const isComplete = hasRun && !root.querySelector(SKELETON);
    completeAt = isComplete ? completeAt || performance.now() : 0;
    const delay = Math.min(SETTLE_MS, completeAt + SETTLE_LIMIT_MS - performance.now());
    if (isComplete) settleTimer = setTimeout(showAll, delay);
  };
  const observer = new MutationObserver(check);
  observer.observe(root, { subtree: true, childList: true, attributes: true });
  let giveUpTimer = setTimeout(showAll, GIVE_UP_MS);
  function showTop() {
    isTopShown = true;
    hidingSheet.replaceSync(HIDE_BELOW_CSS);
    clearTimeout(giveUpTimer);
    giveUpTimer = setTimeout(showAll, GIVE_UP_MS);
  }
  function showAll() {
    observer.disconnect();
    clearTimeout(settleTimer);
    clearTimeout(giveUpTimer);
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== hidingSheet);
    root.classList.add(COMPLETE_CLASS);
  }
}

const root = document.querySelector(ROOT);
if (root) hideUntilComplete(root);
