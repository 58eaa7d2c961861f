"""The lake's tables: the store's samples, versions of its records, and the ledger of shipments."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb

from storage.lake.config import LakeError
from storage.lake.connection import LAKE, LOCKS, NOT_MADE, advisory_lock
from storage.published_query import QueryFunction
from storage.queries.literals import quoted
from storage.rows import TIME_COLUMNS

HERE = Path(__file__).parent
# Table -> its key. Notes have versions of their own; the newest one is shipped.
RECORDS: Mapping[str, str] = {"runs": "id", "run_notes": "run_id", "machines": "id", "machine_labels": "machine_id"}
MACHINE_TABLES = ("machines", "machine_labels")
SHIPMENTS = {
    "run_id": "VARCHAR", "table_name": "VARCHAR", "part": "VARCHAR", "owner": "VARCHAR", "sha256": "VARCHAR",
    "row_count": "BIGINT", "shipped_at": "TIMESTAMP WITH TIME ZONE",
}  # fmt: skip
VERSION = {
    "shipped_version": "BIGINT", "is_deleted": "BOOLEAN", "owner": "VARCHAR", "shipped_at": "TIMESTAMP WITH TIME ZONE",
}  # fmt: skip
AUTHOR = "pitwall"
ROW_GROUP_ROWS = 20_480
FILE_SIZE = "64MB"

Columns = Mapping[str, Mapping[str, str]]  # table of the lake -> column -> type

COMMIT_RULE = (HERE / "take_once.sql").read_text()
HAS_COMMIT_RULE = """
SELECT count(*) AS rules FROM pg_catalog.pg_trigger
WHERE tgname = 'pitwall_take_once' AND tgrelid = to_regclass('ducklake_snapshot_changes')
"""
RECORD_SHIPPED = (HERE / "taken_before.sql").read_text().format(lake=LAKE, locks=LOCKS)


def version_table(table: str) -> str:
    """The version table of a record table: runs -> run_versions."""
    return f"{table.removesuffix('s')}_versions"


def required_columns(query: QueryFunction) -> Columns:
    """Return the columns that the lake needs for this version's tables."""
    rows = query(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() "
        "WHERE database_name = current_database() AND schema_name = 'raw' ORDER BY column_index"
    ).to_pylist()
    columns_by_table: dict[str, dict[str, str]] = {}
    for row in rows:
        columns_by_table.setdefault(row["table_name"], {})[row["column_name"]] = row["data_type"]
    samples = {table: columns_by_table[table] for table in TIME_COLUMNS}
    records = {version_table(table): {**columns_by_table[table], **VERSION} for table in RECORDS}
    return {**samples, **records, "shipments": SHIPMENTS}


def lake_columns(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    """Return the lake's current columns."""
    rows = connection.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE database_name = ? ORDER BY column_index",
        [LAKE],
    ).fetchall()
    columns_by_table: dict[str, dict[str, str]] = {}
    for table, column, data_type in rows:
        columns_by_table.setdefault(table, {})[column] = data_type
    return columns_by_table


def add_missing(connection: duckdb.DuckDBPyConnection, required: Columns) -> bool:
    """Add missing tables and columns; return whether any were missing. Columns of newer writers stay."""
    if not _missing_statements(lake_columns(connection), required):
        return False
    with advisory_lock(connection, "layout", waits=True):
        for statement in _missing_statements(lake_columns(connection), required):
            connection.execute(statement)
    return True


def _missing_statements(existing: Columns, required: Columns) -> list[str]:
    """The statements that add missing tables and columns."""
    statements: list[str] = []
    for table, columns in required.items():
        if table not in existing:
            listed = ", ".join(f'"{name}" {data_type}' for name, data_type in columns.items())
            statements.append(f"CREATE TABLE {LAKE}.{table} ({listed})")
            continue
        missing = {name: kind for name, kind in columns.items() if name not in existing[table]}
        statements += [f'ALTER TABLE {LAKE}.{table} ADD COLUMN "{name}" {kind}' for name, kind in missing.items()]
    return statements


def check_initialised(connection: duckdb.DuckDBPyConnection) -> None:
    """Raise LakeError if the trigger that prevents double shipping is not installed."""
    row = connection.execute(f"FROM postgres_query('{LOCKS}', {quoted(HAS_COMMIT_RULE)})").fetchone()
    if not (row and row[0]):
        raise LakeError(NOT_MADE)


def make_lake(connection: duckdb.DuckDBPyConnection, required: Columns, reader_role: str | None = None) -> None:
    """Create or update the lake's tables and the trigger against double shipping; `reader_role`: gets read access."""
    add_missing(connection, required)
    connection.execute(f"CALL {LAKE}.set_option('parquet_row_group_size', '{ROW_GROUP_ROWS}')")
    connection.execute(f"CALL {LAKE}.set_option('target_file_size', '{FILE_SIZE}')")
    connection.execute(f"CALL {LAKE}.set_option('parquet_compression', 'zstd')")
    with advisory_lock(connection, "upkeep", waits=True):  # no commits meanwhile
        _in_postgres(connection, COMMIT_RULE)
        connection.execute(RECORD_SHIPPED)
    if reader_role is not None:
        role = '"' + reader_role.replace('"', '""') + '"'
        _in_postgres(
            connection, f"GRANT USAGE ON SCHEMA public TO {role}; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}"
        )
        _in_postgres(connection, f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO {role}")


def _in_postgres(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    connection.execute(f"CALL postgres_execute('{LOCKS}', {quoted(sql)})")
