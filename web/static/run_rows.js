// In the table of Runs: a name leads to its run in this tab, as a link does, where the table itself would open another;
// Enter leads to the run of the row, Space ticks it.

import { show } from "./as_left.js";
import { CELL } from "./streamlit_dom.js";

const TABLE = "[class*=st-key-run-rows-]"; // web/runs/table/run_table.py
const ADDRESS = /^run\?run=[^#]+/; // of a run, before its name

let isPlain = false; // the last press: with a key held down or another button a link opens beside
let isOver = false; // it was let go
/** @type {string | undefined} */
let focused; // the run whose name has the focus
/** @type {URL | undefined} */
let pressed; // the run on whose name the press has put the focus

/**
 * @param {string | null | undefined} text
 * @returns {URL | undefined}
 */
function addressIn(text) {
  const found = ADDRESS.exec(text ?? "");
  return found ? new URL(found[0], document.baseURI) : undefined;
}

/**
 * @param {EventTarget | null} cell
 * @returns {URL | undefined} of the run of its row
 */
function runOf(cell) {
  if (!(cell instanceof HTMLTableCellElement) || !cell.matches(CELL) || !cell.closest(TABLE)) return undefined;
  const cells = [...(cell.parentElement?.children ?? [])];
  return cells.map(({ textContent }) => addressIn(textContent)).find(Boolean);
}

/** @param {URL} run */
function lead(run) {
  if (location.pathname !== run.pathname) show(run); // else it has led there: of a press on a name both tell below
}

/** @param {KeyboardEvent} event */
function pressKey(event) {
  isPlain = false;
  const run = runOf(event.target);
  const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
  if (!run || ![" ", "Enter"].includes(key) || ctrlKey || metaKey || altKey || shiftKey) return;
  event.preventDefault();
  event.stopPropagation();
  if (key === "Enter") lead(run);
  else event.target?.dispatchEvent(new KeyboardEvent("keydown", { key, code: "Space", shiftKey: true, bubbles: true }));
}

/** @param {PointerEvent} event */
function press(event) {
  isPlain = !event.button && !event.ctrlKey && !event.metaKey && !event.shiftKey;
  isOver = false;
  pressed = undefined;
}

/** @param {Event} event */
function focus({ target }) {
  const run = target instanceof Element && addressIn(target.textContent) ? runOf(target) : undefined;
  if (run?.href !== focused) pressed = run; // the table gives a name its focus back after other presses
  focused = run?.href;
  follow();
}

function release() {
  isOver = true;
  follow(); // the table moves the focus before or after it
}

function follow() {
  if (pressed && isPlain && isOver) lead(pressed);
}

document.addEventListener("keydown", pressKey, { capture: true });
document.addEventListener("pointerdown", press, { capture: true });
document.addEventListener("focusin", focus, { capture: true });
document.addEventListener("click", release, { capture: true });

const openBeside = window.open.bind(window);
/** @type {typeof window.open} */
window.open = (address, target, features) => {
  const run = isPlain && typeof address === "string" && addressIn(address);
  if (!run) return openBeside(address, target, features);
  lead(run);
  return null;
};
