// Makes rows of the Runs table behave like links: a click on a run's name opens the run in this tab, where Streamlit's
// table would open a new one; Enter opens the run of the focused row, and Space selects the row.

import { openPage } from "./page_links.js";
import { TABLE_CELL } from "./streamlit_dom.js";

const TABLE = "[class*=st-key-run-rows-]"; // web/runs/table/run_table.py
const RUN_URL = /^run\?run=[^#]+/; // a cell's text is the run's URL, then its name

let isPlainPress = false; // whether the last press had no modifier key and the main button; others open a new tab
let isReleased = false;
/** @type {string | undefined} */
let focusedHref; // of the run whose name cell has the focus
/** @type {URL | undefined} */
let pressedRun; // the run to whose name cell the press moved the focus

/**
 * @param {string | null | undefined} text
 * @returns {URL | undefined}
 */
function runUrlIn(text) {
  const match = RUN_URL.exec(text ?? "");
  return match ? new URL(match[0], document.baseURI) : undefined;
}

/**
 * @param {EventTarget | null} cell
 * @returns {URL | undefined} the URL of the run in the cell's row
 */
function runUrlOfRow(cell) {
  if (!(cell instanceof HTMLTableCellElement) || !cell.matches(TABLE_CELL) || !cell.closest(TABLE)) return undefined;
  const cells = [...(cell.parentElement?.children ?? [])];
  return cells.map(({ textContent }) => runUrlIn(textContent)).find(Boolean);
}

/** @param {URL} run */
function openRun(run) {
  if (location.pathname !== run.pathname) openPage(run); // a click on a name arrives twice, by focus and by window.open
}

/** @param {KeyboardEvent} event */
function handleKeyDown(event) {
  isPlainPress = false;
  const run = runUrlOfRow(event.target);
  const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
  if (!run || ![" ", "Enter"].includes(key) || ctrlKey || metaKey || altKey || shiftKey) return;
  event.preventDefault();
  event.stopPropagation();
  if (key === "Enter") openRun(run);
  else event.target?.dispatchEvent(new KeyboardEvent("keydown", { key, code: "Space", shiftKey: true, bubbles: true }));
}

/** @param {PointerEvent} event */
function handlePointerDown(event) {
  isPlainPress = !event.button && !event.ctrlKey && !event.metaKey && !event.shiftKey;
  isReleased = false;
  pressedRun = undefined;
}

/** @param {Event} event */
function handleFocusIn({ target }) {
  const run = target instanceof Element && runUrlIn(target.textContent) ? runUrlOfRow(target) : undefined;
  if (run?.href !== focusedHref) pressedRun = run; // the table also refocuses a name after presses elsewhere
  focusedHref = run?.href;
  openPressedRun();
}

function handleClick() {
  isReleased = true;
  openPressedRun(); // the table moves the focus before or after the click, so both handlers try
}

function openPressedRun() {
  if (pressedRun && isPlainPress && isReleased) openRun(pressedRun);
}

document.addEventListener("keydown", handleKeyDown, { capture: true });
document.addEventListener("pointerdown", handlePointerDown, { capture: true });
document.addEventListener("focusin", handleFocusIn, { capture: true });
document.addEventListener("click", handleClick, { capture: true });

const openWindow = window.open.bind(window);
/** @type {typeof window.open} */
window.open = (url, target, features) => {
  const run = isPlainPress && typeof url === "string" && runUrlIn(url);
  if (!run) return openWindow(url, target, features);
  openRun(run);
  return null;
};
