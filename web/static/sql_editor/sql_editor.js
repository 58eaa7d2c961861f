// The SQL page's editor as a Streamlit component: the page sets its text, and hears it when the editor is left or asked.

import { createEditor } from "./codemirror.min.js";
import { columnsAt } from "./columns.js";

/** @import { Editor, EditorData, EditorState, EditorTriggers } from "../../types/sql_editor.js" */
/** @typedef {ComponentArgs<EditorData> & ValueSetters<EditorState, EditorTriggers>} Component */
/** @typedef {{ editor: Editor, component: Component, schema: string, put: string }} Held */

/** @type {WeakMap<HTMLElement, Held>} */
const editors = new WeakMap(); // by parent element: a rerun of the script meets the editor it made
const DRAFT = "pitwall-sql-draft"; // what stood here when the page was left, and of which texts of the page's it was made

/** @param {Component} component */
export function mount(component) {
  const { parentElement, data } = component;
  const held = editors.get(parentElement) ?? open(component);
  if (held.component.data.version !== data.version) held.editor.setText((held.put = data.text));
  if (held.schema !== JSON.stringify(data.schema)) {
    held.schema = JSON.stringify(data.schema);
    held.editor.setSchema(data.schema);
  }
  held.component = component;
  return () => {
    keepDraft(held);
    held.editor.destroy();
    editors.delete(parentElement);
  };
}

/** @param {Component} component */
function open(component) {
  const { parentElement, data } = component;
  const host = document.createElement("div");
  host.className = "pw-sql-editor";
  parentElement.append(host);
  /** @param {string} text */
  const said = (text) => ({ text, version: held.component.data.version });
  const draft = draftOf(data.text);
  const editor = createEditor({
    parent: host,
    text: draft ?? data.text,
    label: data.label,
    schema: data.schema,
    columnsAt,
    onRun: (text) => held.component.setTriggerValue("run", said(text)),
  });
  /** @type {Held} */
  const held = { editor, component, schema: JSON.stringify(data.schema), put: data.text };
  // Whatever is pressed next, the page knows the text before it hears of the press. Not so of a link to another page: the run of
  // this one that it brings would begin after the other's, and lead back here.
  host.addEventListener("focusout", ({ relatedTarget }) => {
    const isLeft = relatedTarget instanceof Element && relatedTarget.closest("a[href]");
    if (!isLeft) held.component.setStateValue("said", said(editor.text()));
  });
  addEventListener("pagehide", () => host.isConnected && keepDraft(held));
  editors.set(parentElement, held);
  if (draft !== undefined) component.setStateValue("said", said(draft));
  return held;
}

/** @param {Held} held */
function keepDraft({ editor, component, put }) {
  // The page puts again what it was told last; after a reload, what its address says.
  sessionStorage.setItem(DRAFT, JSON.stringify({ made: [put, component.data.text], typed: editor.text() }));
}

/**
 * @param {string} put
 * @returns {string | undefined}
 */
function draftOf(put) {
  const { made, typed } = JSON.parse(sessionStorage.getItem(DRAFT) ?? '{"made":[]}');
  sessionStorage.removeItem(DRAFT); // it is for the next look alone: a link to the same statement means the statement
  return made.includes(put) && typed !== put ? typed : undefined;
}
