// The editor of the SQL page as a Streamlit component: the page sets its text, and gets the text when the editor loses
// the focus or the user runs the statement.

import { createEditor } from "./codemirror.min.js";
import { columnsAt } from "./columns.js";

/** @import { Editor, EditorData, EditorState, EditorTriggers } from "../../types/sql_editor.js" */
/** @typedef {ComponentArgs<EditorData> & ValueSetters<EditorState, EditorTriggers>} Component */
/**
 * `schema`: as JSON; `pageText`: the last text that the page set; `draft`: of the visit before, until it is used.
 * @typedef {{ made: string[], typed: string }} Draft
 * @typedef {{ editor: Editor, component: Component, schema: string, pageText: string, draft?: Draft }} MountedEditor
 */

/** @type {WeakMap<HTMLElement, MountedEditor>} */
const editors = new WeakMap(); // by parent element: a rerun of the script updates the editor it created
const DRAFT_KEY = "pitwall-sql-draft"; // the text at the time the page was left, and the page's texts it was based on

/** @param {Component} component */
export function mount(component) {
  const { parentElement, data } = component;
  const mounted = editors.get(parentElement) ?? mountEditor(component);
  if (mounted.component.data.version !== data.version) {
    const typed = typedText(mounted.draft, data.text);
    mounted.pageText = data.text;
    mounted.draft = undefined;
    mounted.editor.setText(typed ?? data.text);
    if (typed !== undefined) component.setStateValue("said", { text: typed, version: data.version });
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
  const draft = takeDraft();
  const typed = typedText(draft, data.text);
  const editor = createEditor({
    parent: host,
    text: typed ?? data.text,
    label: data.label,
    schema: data.schema,
    columnsAt,
    onRun: (text) => mounted.component.setTriggerValue("run", withVersion(text)),
  });
  /** @type {MountedEditor} */
  const mounted = { editor, component, schema: JSON.stringify(data.schema), pageText: data.text, draft };
  host.addEventListener("focusin", () => (mounted.draft = undefined));
  // The page gets the text before it hears of whatever the user clicks next. A link to another page is the exception:
  // the rerun of this page's script would start after the other page's script, and lead back here.
  host.addEventListener("focusout", ({ relatedTarget }) => {
    const isLeavingPage = relatedTarget instanceof Element && relatedTarget.closest("a[href]");
    if (!isLeavingPage) mounted.component.setStateValue("said", withVersion(editor.text()));
  });
  addEventListener("pagehide", () => host.isConnected && saveDraft(mounted));
  editors.set(parentElement, mounted);
  if (typed !== undefined) component.setStateValue("said", withVersion(typed));
  return mounted;
}

/** @param {MountedEditor} mounted */
function saveDraft({ editor, component, pageText, draft: unused }) {
  // When the page returns, it sets either the last text that it was sent or, after a reload, the text in its URL.
  // An editor that nobody has touched leaves the draft of the visit before: a page that is opened again may draw it
  // twice, at first with the text of another address.
  const draft = unused ?? { made: [pageText, component.data.text], typed: editor.text() };
  sessionStorage.setItem(DRAFT_KEY, JSON.stringify(draft));
}

/**
 * The saved draft. It is removed, because it is only for the next visit: a later link to the same statement must show
 * the statement.
 * @returns {Draft | undefined}
 */
function takeDraft() {
  const draft = JSON.parse(sessionStorage.getItem(DRAFT_KEY) ?? "null");
  sessionStorage.removeItem(DRAFT_KEY);
  return draft ?? undefined;
}

/**
 * What was typed in a draft that was based on the text that the page sets now.
 * @param {Draft | undefined} draft
 * @param {string} pageText
 * @returns {string | undefined}
 */
function typedText(draft, pageText) {
  return draft?.made.includes(pageText) && draft.typed !== pageText ? draft.typed : undefined;
}
