// What the SQL page, its component and the bundled editor tell each other; web/sql/editor.py has the other end.

/** Views and macros with their columns, for the completion. */
export type Schema = Record<string, string[]>;

export interface EditorData {
  assets: string;
  module: string;
  label: string;
  schema: Schema;
  text: string;
  version: number; // of the text: it is put into the editor when this has changed
}

/** The text as it stands in the editor, and of which of the page's texts it was made. */
export interface Said {
  text: string;
  version: number;
}

export interface EditorState {
  said: Said;
}

export interface EditorTriggers {
  run: Said;
}

export interface EditorSetup {
  parent: HTMLElement;
  text: string;
  label: string;
  schema: Schema;
  columnsAt(text: string, at: number, tables: Schema): string[];
  onRun(text: string): void;
}

export interface Editor {
  text(): string;
  setText(text: string): void;
  setSchema(schema: Schema): void;
  destroy(): void;
}
