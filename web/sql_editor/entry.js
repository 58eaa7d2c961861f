// The SQL editor that `make sql-editor` bundles into web/static/sql_editor/codemirror.min.js, the one file that is served.

import { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { PostgreSQL, SQLDialect, sql } from "@codemirror/lang-sql";
import { HighlightStyle, bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { EditorView, drawSelection, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

import { KEYWORDS, TYPES } from "./duckdb_words.js";

// DuckDB writes its text, operators and comments as PostgreSQL does.
const DUCKDB = SQLDialect.define({ ...PostgreSQL.spec, keywords: KEYWORDS, types: TYPES, builtin: "" });

// Colours are the page's own, which says them for both grounds (web/static/sql_editor/sql_editor.css).
const HIGHLIGHT = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], color: "var(--sql-keyword)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--sql-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--sql-number)" },
  { tag: tags.comment, color: "var(--sql-comment)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--sql-type)" },
]);

/** An editor in `parent`; `columnsAt` says which columns may stand at a place, `onRun` hears the text at Ctrl+Enter. */
export function createEditor({ parent, text, label, schema, columnsAt, onRun }) {
  const language = new Compartment();
  const speak = (tables) => [
    sql({ dialect: DUCKDB, schema: tables, upperCaseKeywords: true }),
    DUCKDB.language.data.of({ autocomplete: (context) => columnsHere(context, columnsAt, tables) }),
  ];
  const run = (view) => (onRun(view.state.doc.toString()), true);
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(keymap.of([{ key: "Mod-Enter", run }])),
        keymap.of([{ key: "Tab", run: acceptCompletion }]), // else Tab leaves the editor
        lineNumbers(), history(), drawSelection(), indentOnInput(), bracketMatching(), closeBrackets(), autocompletion({ icons: false }),
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...defaultKeymap, ...historyKeymap]),
        syntaxHighlighting(HIGHLIGHT),
        language.of(speak(schema)),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": label }),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    setText(said) {
      if (said === view.state.doc.toString()) return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: said } });
    },
    setSchema: (tables) => view.dispatch({ effects: language.reconfigure(speak(tables)) }),
    destroy: () => view.destroy(),
  };
}

/** lang-sql offers columns behind the name of a table alone, and does not look behind the parentheses of a macro. */
function columnsHere({ state, pos, explicit }, columnsAt, tables) {
  const word = state.sliceDoc(0, pos).match(/\w*$/)[0];
  const from = pos - word.length;
  if (!word && !explicit && state.sliceDoc(Math.max(0, from - 1), from) !== ".") return null;
  const options = columnsAt(state.doc.toString(), from, tables).map((label) => ({ label, type: "property" }));
  return options.length ? { from, options, validFor: /^\w*$/ } : null;
}
