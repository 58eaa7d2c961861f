"""The lake's tables: those of the store's samples, versions of its records, and the ledger of what was shipped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb

from storage.ask.literals import quoted
from storage.lake.config import LakeError
from storage.lake.connection import LAKE, LOCKS, NOT_MADE, held
from storage.published_query import Query
from storage.rows import TIME_COLUMNS

HERE = Path(__file__).parent
# Table -> its key. A person's notes on a run are versions of their own; the newest is what is shipped.
RECORDS: Mapping[str, str] = {"runs": "id", "run_notes": "run_id", "machines": "id", "machine_labels": "machine_id"}
OF_MACHINES = ("machines", "machine_labels")
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

ONCE = (HERE / "take_once.sql").read_text()
HAS_RULE = """
SELECT count(*) AS rules FROM pg_catalog.pg_trigger
WHERE tgname = 'pitwall_take_once' AND tgrelid = to_regclass('ducklake_snapshot_changes')
"""
TAKEN = (HERE / "taken_before.sql").read_text().format(lake=LAKE, locks=LOCKS)


def version_table(table: str) -> str:
    """runs -> run_versions."""
    return f"{table.removesuffix('s')}_versions"


def wanted_columns(query: Query) -> Columns:
    """What this Pitwall's own tables have, as the lake is to have it."""
    rows = query(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() "
        "WHERE database_name = current_database() AND schema_name = 'raw' ORDER BY column_index"
    ).to_pylist()
    stored: dict[str, dict[str, str]] = {}
    for row in rows:
        stored.setdefault(row["table_name"], {})[row["column_name"]] = row["data_type"]
    samples = {table: stored[table] for table in TIME_COLUMNS}
    records = {version_table(table): {**stored[table], **VERSION} for table in RECORDS}
    return {**samples, **records, "shipments": SHIPMENTS}


def lake_columns(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    """What the lake has now."""
    rows = connection.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE database_name = ? ORDER BY column_index",
        [LAKE],
    ).fetchall()
    found: dict[str, dict[str, str]] = {}
    for table, column, kind in rows:
        found.setdefault(table, {})[column] = kind
    return found


def fit(connection: duckdb.DuckDBPyConnection, wanted: Columns) -> bool:
    """Add what the lake lacks, tables and columns; whether it lacked any. What only newer writers know stays."""
    if not _lacks(lake_columns(connection), wanted):
        return False
    with held(connection, "layout", waits=True):
        for statement in _lacks(lake_columns(connection), wanted):
            connection.execute(statement)
    return True


def _lacks(found: Columns, wanted: Columns) -> list[str]:
    """The statements that add what is not there."""
    made: list[str] = []
    for table, columns in wanted.items():
        if table not in found:
            listed = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
            made.append(f"CREATE TABLE {LAKE}.{table} ({listed})")
            continue
        missing = {name: kind for name, kind in columns.items() if name not in found[table]}
        made += [f'ALTER TABLE {LAKE}.{table} ADD COLUMN "{name}" {kind}' for name, kind in missing.items()]
    return made


def check_made(connection: duckdb.DuckDBPyConnection) -> None:
    """Raises LakeError where nothing would hold a commit to the rule of once."""
    row = connection.execute(f"FROM postgres_query('{LOCKS}', {quoted(HAS_RULE)})").fetchone()
    if not (row and row[0]):
        raise LakeError(NOT_MADE)


def make_lake(connection: duckdb.DuckDBPyConnection, wanted: Columns, reader: str | None = None) -> None:
    """Make the lake's tables and its rule of once, or bring them up to date; `reader`: a role that may read it."""
    fit(connection, wanted)
    connection.execute(f"CALL {LAKE}.set_option('parquet_row_group_size', '{ROW_GROUP_ROWS}')")
    connection.execute(f"CALL {LAKE}.set_option('target_file_size', '{FILE_SIZE}')")
    connection.execute(f"CALL {LAKE}.set_option('parquet_compression', 'zstd')")
    with held(connection, "upkeep", waits=True):  # nobody commits meanwhile
        _in_postgres(connection, ONCE)
        connection.execute(TAKEN)
    if reader is not None:
        role = '"' + reader.replace('"', '""') + '"'
        _in_postgres(
            connection, f"GRANT USAGE ON SCHEMA public TO {role}; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}"
        )
        _in_postgres(connection, f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO {role}")


def _in_postgres(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    connection.execute(f"CALL postgres_execute('{LOCKS}', {quoted(sql)})")
