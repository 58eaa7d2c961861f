// Submits the command box of the Launch page as soon as text is pasted or dropped into it; Streamlit alone waits for
// Ctrl+Enter or until the box loses focus. The box keeps the browser's own text, cursor and undo history.

import { TEXT_AREA } from "./streamlit_dom.js";

const COMMAND_BOX = ".st-key-pasted"; // web/launch/draft.py
const SUBMITTED_INPUT_TYPES = ["insertFromPaste", "insertFromDrop"];

/** @param {Event} event */
function submitInput(event) {
  const { target } = event;
  if (!(event instanceof InputEvent) || !SUBMITTED_INPUT_TYPES.includes(event.inputType)) return;
  if (!(target instanceof HTMLTextAreaElement) || !target.matches(TEXT_AREA) || !target.closest(COMMAND_BOX)) return;
  const ctrlEnter = new KeyboardEvent("keydown", { key: "Enter", code: "Enter", ctrlKey: true, bubbles: true });
  setTimeout(() => target.dispatchEvent(ctrlEnter)); // after Streamlit has handled the input event
}

document.addEventListener("input", submitInput);
