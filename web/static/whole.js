// On every page: what it shows comes into sight when it has its place, not piece by piece while the pieces move each
// other: Streamlit puts a line of one height in the place of each widget whose code is still on its way.

import { PAGE, PIECE_ON_ITS_WAY, ROOT, SCRIPT_HAS_RUN } from "./streamlit_dom.js";

export const WHOLE = "pw-whole"; // a class of the root from then on
const SETTLED_MS = 100;
const NO_LONGER_MS = 250; // a chart that is still drawn has its size
const GIVE_UP_MS = 5000; // after that a slow page shows what it has
const BARS = ["0 0 / 32% 1.6rem", "0 2.7rem / 64% 1rem", "0 5rem / 100% 17rem", "0 23.5rem / 100% 17rem"];
const BAR = "linear-gradient(var(--pw-panel), var(--pw-panel))";
// Nothing has its place before the page's script has run through.
const COMING = `
  :root :is(${PAGE}, ${PAGE} *) { visibility: hidden; }
  ${PAGE}::before { content: ""; visibility: visible; position: absolute; top: 4.95rem; height: 42rem;
    left: max(1rem, min(5rem, 5vw)); right: max(1rem, min(5rem, 5vw));
    background: ${BARS.map((bar) => `${BAR} ${bar} no-repeat`).join(", ")}; }`;
// Then what is above the first piece on its way has it.
const BELOW = `:is(${PIECE_ON_ITS_WAY}, :has(${PIECE_ON_ITS_WAY})) ~ *`;
const READABLE = `:root :is(${PAGE} ${BELOW}, ${PAGE} ${BELOW} *) { visibility: hidden; }`;

/** @param {Element} root */
function watch(root) {
  const coming = new CSSStyleSheet();
  coming.replaceSync(COMING);
  document.adoptedStyleSheets.push(coming);
  let settling = 0;
  let isReadable = false;
  let since = 0; // when it was first found whole
  const look = () => {
    clearTimeout(settling);
    const hasRun = document.querySelector(SCRIPT_HAS_RUN);
    if (hasRun && !isReadable) read();
    const isWhole = hasRun && !root.querySelector(PIECE_ON_ITS_WAY);
    since = isWhole ? since || performance.now() : 0;
    if (isWhole) settling = setTimeout(show, Math.min(SETTLED_MS, since + NO_LONGER_MS - performance.now()));
  };
  const watching = new MutationObserver(look);
  watching.observe(root, { subtree: true, childList: true, attributes: true });
  let givingUp = setTimeout(show, GIVE_UP_MS);
  function read() {
    isReadable = true;
    coming.replaceSync(READABLE);
    clearTimeout(givingUp);
    givingUp = setTimeout(show, GIVE_UP_MS);
  }
  function show() {
    watching.disconnect();
    clearTimeout(settling);
    clearTimeout(givingUp);
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== coming);
    root.classList.add(WHOLE);
  }
}

const root = document.querySelector(ROOT);
if (root) watch(root);
