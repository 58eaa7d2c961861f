// What is pasted or dropped into the command's box of Launch is read at once; Streamlit waits for Ctrl+Enter, or until
// the focus leaves the box. Its text, cursor and undo stay as the browser has them.

import { TEXT_AREA } from "./streamlit_dom.js";

const BOX = ".st-key-pasted"; // web/launch/draft.py
const AT_ONCE = ["insertFromPaste", "insertFromDrop"];

/** @param {Event} event */
function read(event) {
  const { target } = event;
  if (!(event instanceof InputEvent) || !AT_ONCE.includes(event.inputType)) return;
  if (!(target instanceof HTMLTextAreaElement) || !target.matches(TEXT_AREA) || !target.closest(BOX)) return;
  const enter = new KeyboardEvent("keydown", { key: "Enter", code: "Enter", ctrlKey: true, bubbles: true });
  setTimeout(() => target.dispatchEvent(enter)); // when Streamlit has taken the text in
}

document.addEventListener("input", read);
