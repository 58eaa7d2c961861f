// The types that the SQL page (web/sql/editor.py), its component and the bundled editor exchange.

/** Views and macros with their columns, for completion. */
export type Schema = Record<string, string[]>;

export interface EditorData {
  assets: string;
  module: string;
  label: string;
  schema: Schema;
  text: string;
  version: number; // the text is put into the editor only when this number has changed
}

/** The text in the editor, and the version of the page's text that it is based on. */
export interface EditedText {
  text: string;
  version: number;
}

export interface EditorState {
  said: EditedText;
}

export interface EditorTriggers {
  run: EditedText;
}

export interface EditorSetup {
  parent: HTMLElement;
  text: string;
  label: string;
  schema: Schema;
  columnsAt(text: string, position: number, tables: Schema): string[];
  onRun(text: string): void;
}

export interface Editor {
  text(): string;
  setText(text: string): void;
  setSchema(schema: Schema): void;
  destroy(): void;
}
