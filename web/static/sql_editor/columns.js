// Completes column names in the SQL editor: it finds the views and macros that a statement names, also under an alias.

// A view, or a macro with its arguments (parentheses nested at most three deep), and an optional alias.
const SOURCE = /\b(?:from|join)\s+(\w+)\s*(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?(?:\s*\b(?:as\s+)?(?!(?:join|from)\b)(\w+))?/gi;
const QUALIFIER = /(\w+)\.$/;

/**
 * The columns that can be written at a position: after `w.` those of the macro with the alias w, otherwise those of all
 * views and macros in the statement.
 * @param {string} text
 * @param {number} position where the column name starts
 * @param {Record<string, string[]>} tables all views and macros with their columns
 */
export function columnsAt(text, position, tables) {
  const sources = [...text.matchAll(SOURCE)].map(([, name, call, alias]) => ({
    columns: Object.hasOwn(tables, name.toLowerCase()) ? tables[name.toLowerCase()] : [],
    call,
    alias: alias?.toLowerCase(),
  }));
  const qualifier = QUALIFIER.exec(text.slice(0, position))?.[1].toLowerCase();
  // The editor itself completes the columns of a view after its alias, but knows no macros.
  const isQualified = (/** @type {typeof sources[number]} */ { call, alias }) => call && alias === qualifier;
  const offered = qualifier === undefined ? sources : sources.filter(isQualified);
  return [...new Set(offered.flatMap(({ columns }) => columns))];
}
