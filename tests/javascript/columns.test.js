import assert from "node:assert/strict";
import { test } from "node:test";

import { columnsAt } from "../../web/static/sql_editor/columns.js";

const TABLES = { runs: ["run_id", "name"], run_windows: ["run_id", "decode_tps"], startup_of: ["weights_s"] };

/** @param {string} said with | where a column is to stand */
const at = (said) => columnsAt(said.replace("|", ""), said.indexOf("|"), TABLES);

test("a macro's columns are offered wherever its statement may have one", () => {
  for (const said of ["SELECT | FROM run_windows(2)", "FROM run_windows(2, run_ids := ['a(b)', 'c']) WHERE |", "SELECT | from\n RUN_WINDOWS (greatest(1, abs(2)))"])
    assert.deepEqual(at(said), ["run_id", "decode_tps"], said);
  assert.deepEqual(at("SELECT | FROM runs JOIN run_windows(2) USING (run_id)"), ["run_id", "name", "decode_tps"], "each once");
  assert.deepEqual(at("FROM runs JOIN startup_of(NULL) s USING (run_id) ORDER BY |"), ["run_id", "name", "weights_s"]);
});

test("behind the name of a macro in a statement stand its columns alone", () => {
  for (const said of ["SELECT w.| FROM run_windows(2) w", "SELECT W.| FROM runs r JOIN run_windows(2) AS w ON true", "SELECT w.|\nFROM run_windows(2)w"])
    assert.deepEqual(at(said), ["run_id", "decode_tps"], said);
  for (const said of ["SELECT r.| FROM runs r", "SELECT x.| FROM run_windows(2) w"]) assert.deepEqual(at(said), [], said);
});

test("what nobody can ask, and a half statement, offers nothing", () => {
  for (const said of ["|", "SELECT |", "SELECT | FROM constructor", "SELECT | FROM nothing(2) n", "FROM (|", `FROM run_windo${"(".repeat(5000)}|`])
    assert.deepEqual(at(said), [], said.slice(0, 40));
});
