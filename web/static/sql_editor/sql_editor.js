// The editor of the SQL page as a Streamlit component: the page sets its text, and gets the text when the editor loses
// the focus or the user runs the statement.

import { createEditor } from "./codemirror.min.js";
import { columnsAt } from "./columns.js";

/** @import { Editor, EditorData, EditorState, EditorTriggers } from "../../types/sql_editor.js" */
/** @typedef {ComponentArgs<EditorData> & ValueSetters<EditorState, EditorTriggers>} Component */
/**
 * `schema`: as JSON; `pageText`: the last text that the page set.
 * @typedef {{ editor: Editor, component: Component, schema: string, pageText: string }} MountedEditor
 */

/** @type {WeakMap<HTMLElement, MountedEditor>} */
const editors = new WeakMap(); // by parent element: a rerun of the script updates the editor it created
const DRAFT_KEY = "pitwall-sql-draft"; // the text at the time the page was left, and the page's texts it was based on

/** @param {Component} component */
export function mount(component) {
  const { parentElement, data } = component;
  const mounted = editors.get(parentElement) ?? mountEditor(component);
  if (mounted.component.data.version !== data.version) {
    mounted.pageText = data.text;
    mounted.editor.setText(data.text);
  }
  if (mounted.schema !== JSON.stringify(data.schema)) {
    mounted.schema = JSON.stringify(data.schema);
    mounted.editor.setSchema(data.schema);
  }
  mounted.component = component;
  return () => {
    saveDraft(mounted);
    mounted.editor.destroy();
    editors.delete(parentElement);
  };
}

/** @param {Component} component */
function mountEditor(component) {
  const { parentElement, data } = component;
  const host = document.createElement("div");
  host.className = "pw-sql-editor";
  parentElement.append(host);
  /** @param {string} text */
  const withVersion = (text) => ({ text, version: mounted.component.data.version });
  const draft = takeDraft(data.text);
  const editor = createEditor({
    parent: host,
    text: draft ?? data.text,
    label: data.label,
    schema: data.schema,
    columnsAt,
    onRun: (text) => mounted.component.setTriggerValue("run", withVersion(text)),
  });
  /** @type {MountedEditor} */
  const mounted = { editor, component, schema: JSON.stringify(data.schema), pageText: data.text };
  // The page gets the text before it hears of whatever the user clicks next. A link to another page is the exception:
  // the rerun of this page's script would start after the other page's script, and lead back here.
  host.addEventListener("focusout", ({ relatedTarget }) => {
    const isLeavingPage = relatedTarget instanceof Element && relatedTarget.closest("a[href]");
    if (!isLeavingPage) mounted.component.setStateValue("said", withVersion(editor.text()));
  });
  addEventListener("pagehide", () => host.isConnected && saveDraft(mounted));
  editors.set(parentElement, mounted);
  if (draft !== undefined) component.setStateValue("said", withVersion(draft));
  return mounted;
}

/** @param {MountedEditor} mounted */
function saveDraft({ editor, component, pageText }) {
  // When the page returns, it sets either the last text that it was sent or, after a reload, the text in its URL.
  const draft = { made: [pageText, component.data.text], typed: editor.text() };
  sessionStorage.setItem(DRAFT_KEY, JSON.stringify(draft));
}

/**
 * The saved draft, if it was based on the text that the page sets now. It is removed, because it is only for the next
 * visit: a later link to the same statement must show the statement.
 * @param {string} pageText
 * @returns {string | undefined}
 */
function takeDraft(pageText) {
  const { made: baseTexts, typed } = JSON.parse(sessionStorage.getItem(DRAFT_KEY) ?? '{"made":[]}');
  sessionStorage.removeItem(DRAFT_KEY);
  return baseTexts.includes(pageText) && typed !== pageText ? typed : undefined;
}
