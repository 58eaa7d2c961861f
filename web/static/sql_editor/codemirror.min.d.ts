import type { Editor, EditorSetup } from "../../types/sql_editor.js";

export function createEditor(setup: EditorSetup): Editor;
