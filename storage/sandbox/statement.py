"""Checks statements: exactly one, made of SELECTs, without functions that reach beyond the rows.

This is the first of three barriers; DuckDB's settings and the kernel's confinement are the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import duckdb

from storage.queries.literals import quoted
from storage.sandbox.job import Fault, SqlRefusedError

SELECT_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
TABLE_FUNCTIONS = {
    "duckdb_columns", "duckdb_functions", "duckdb_keywords", "duckdb_schemas", "duckdb_tables", "duckdb_types",
    "duckdb_views", "generate_series", "histogram", "histogram_values", "json_each", "json_tree", "pragma_table_info",
    "pragma_version", "range", "repeat", "repeat_row", "summary", "unnest",
}  # fmt: skip
DENIED = {
    "currval", "getenv", "getvariable", "glob", "json_execute_serialized_sql", "json_serialize_plan", "nextval",
    "pg_sleep", "query", "query_table", "sleep_ms", "sniff_csv", "write_log",
}  # fmt: skip
# DuckDB's views of attached databases and settings.
DENIED_TABLES = {"duckdb_databases", "duckdb_logs", "pg_settings", "pragma_database_list"}
EXPLAIN = re.compile(r"^\s*EXPLAIN\s+(ANALYZE\s+)?", re.IGNORECASE)
DENIED_PREFIXES = ("read_", "parquet_")


def check_statement(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raise SqlRefusedError unless `sql` is one SELECT over the views or an EXPLAIN of one; nothing is run."""
    if "\0" in sql:
        raise SqlRefusedError(Fault.STATEMENT, "The statement contains a NUL character (byte 0): remove it.")
    statement = _parse(connection, EXPLAIN.sub("", sql, count=1))
    macros = connection.execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'table_macro' AND NOT internal "
        "AND database_name = current_database()"
    ).fetchall()
    allowed = TABLE_FUNCTIONS | {name for (name,) in macros}
    # The lake's catalogue is attached under a hidden name, and contains more than rows.
    schemas = connection.execute(
        "SELECT unnest([database_name, schema_name]) FROM duckdb_schemas() "
        "WHERE database_name IN (current_database(), 'system')"
    ).fetchall()
    known_schemas = {"", *(name.lower() for (name,) in schemas)}
    for node in _nodes(statement):
        _check_node(node, allowed, known_schemas)


def _parse(connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, Any]:
    """The statement as parsed by DuckDB."""
    # Not as a parameter: a process's first parameter imports pandas, which takes longer than most queries.
    row = connection.execute(f"SELECT json_serialize_sql({quoted(sql)})").fetchone()
    assert row is not None
    try:
        parsed = json.loads(row[0])
    except RecursionError:
        raise SqlRefusedError(Fault.STATEMENT, "The statement is nested too deeply.") from None
    if parsed["error"]:
        raise SqlRefusedError(Fault.STATEMENT, _parse_error(parsed))
    statements: list[dict[str, Any]] = parsed["statements"]
    if len(statements) != 1:
        raise SqlRefusedError(Fault.STATEMENT, f"One statement at a time: {len(statements) or 'none'} found.")
    return statements[0]


def _parse_error(parsed: dict[str, Any]) -> str:
    if parsed["error_type"] == "not implemented":
        return "Only a SELECT can be run here: the store is read, never changed."
    return f"DuckDB cannot parse this SQL: {parsed['error_message'].splitlines()[0]}"


def _nodes(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every object of the tree; not recursive, because the user's statement determines its depth."""
    pending: list[Any] = [tree]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            yield value
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)


def _check_node(node: dict[str, Any], allowed: set[str], known_schemas: set[str]) -> None:
    kind = str(node.get("type", ""))
    if kind.endswith("_NODE") and kind not in SELECT_NODES:
        raise SqlRefusedError(Fault.STATEMENT, f"Only SELECTs can be run here, not {kind.removesuffix('_NODE')}.")
    if kind == "BASE_TABLE" and set(str(node.get("table_name"))) & set("/\\.*:"):
        raise SqlRefusedError(Fault.STATEMENT, "Files cannot be read here: query the views.")
    if kind == "BASE_TABLE" and not _qualifiers(node) <= known_schemas:
        raise SqlRefusedError(Fault.STATEMENT, "Only the views can be queried here: leave out the catalogue's name.")
    if kind == "BASE_TABLE" and str(node.get("table_name")).lower() in DENIED_TABLES:
        raise SqlRefusedError(Fault.STATEMENT, f"The view {node['table_name']} is not available here.")
    if kind == "TABLE_FUNCTION":
        _check_function(str(node["function"].get("function_name", "")).lower(), allowed)
    name = str(node.get("function_name", "")).lower()
    if name in DENIED or name.startswith(DENIED_PREFIXES):
        raise SqlRefusedError(Fault.STATEMENT, f"The function {name} is not available here.")


def _qualifiers(node: dict[str, Any]) -> set[str]:
    return {str(node.get(name) or "").lower() for name in ("catalog_name", "schema_name")}


def _check_function(name: str, allowed: set[str]) -> None:
    if name not in allowed:
        raise SqlRefusedError(Fault.STATEMENT, f"The table function {name} is not available here.")
