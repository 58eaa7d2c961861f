import assert from "node:assert/strict";
import { test } from "node:test";

import { columnsAt } from "../../web/static/sql_editor/columns.js";

const TABLES = { runs: ["run_id", "name"], run_windows: ["run_id", "decode_tps"], startup_of: ["weights_s"] };

/** @param {string} statement with | at the position of the cursor */
const offeredAt = (statement) => columnsAt(statement.replace("|", ""), statement.indexOf("|"), TABLES);

test("the columns of a macro are offered everywhere in a statement that names it", () => {
  for (const statement of ["SELECT | FROM run_windows(2)", "FROM run_windows(2, run_ids := ['a(b)', 'c']) WHERE |", "SELECT | from\n RUN_WINDOWS (greatest(1, abs(2)))"])
    assert.deepEqual(offeredAt(statement), ["run_id", "decode_tps"], statement);
  assert.deepEqual(offeredAt("SELECT | FROM runs JOIN run_windows(2) USING (run_id)"), ["run_id", "name", "decode_tps"], "each once");
  assert.deepEqual(offeredAt("FROM runs JOIN startup_of(NULL) s USING (run_id) ORDER BY |"), ["run_id", "name", "weights_s"]);
});

test("after the alias of a macro only its columns are offered", () => {
  for (const statement of ["SELECT w.| FROM run_windows(2) w", "SELECT W.| FROM runs r JOIN run_windows(2) AS w ON true", "SELECT w.|\nFROM run_windows(2)w"])
    assert.deepEqual(offeredAt(statement), ["run_id", "decode_tps"], statement);
  for (const statement of ["SELECT r.| FROM runs r", "SELECT x.| FROM run_windows(2) w"]) assert.deepEqual(offeredAt(statement), [], statement);
});

test("unknown tables and incomplete statements offer nothing", () => {
  for (const statement of ["|", "SELECT |", "SELECT | FROM constructor", "SELECT | FROM nothing(2) n", "FROM (|", `FROM run_windo${"(".repeat(5000)}|`])
    assert.deepEqual(offeredAt(statement), [], statement.slice(0, 40));
});
