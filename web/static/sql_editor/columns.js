// Which columns may stand at a place of a statement: those of the views and macros that it names, under their aliases too.

// A view, or a macro with what it is given in parentheses, three deep at most; and what it is called in the statement.
const SOURCE = /\b(?:from|join)\s+(\w+)\s*(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?(?:\s*\b(?:as\s+)?(?!(?:join|from)\b)(\w+))?/gi;
const QUALIFIED = /(\w+)\.$/;

/**
 * Behind `w.` those of the macro that is called w here; without one those of all that is named.
 * @param {string} text
 * @param {number} at where the column begins
 * @param {Record<string, string[]>} tables what can be asked, with its columns
 */
export function columnsAt(text, at, tables) {
  const sources = [...text.matchAll(SOURCE)].map(([, name, call, alias]) => ({
    columns: Object.hasOwn(tables, name.toLowerCase()) ? tables[name.toLowerCase()] : [],
    call,
    alias: alias?.toLowerCase(),
  }));
  const alias = QUALIFIED.exec(text.slice(0, at))?.[1].toLowerCase();
  const meant = alias === undefined ? sources : sources.filter((one) => one.call && one.alias === alias); // of a view the editor knows
  return [...new Set(meant.flatMap(({ columns }) => columns))];
}
