"""Merges the reports of several data folders about a machine: its own report first, and nulls hide no value."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb

REPORTS_TABLE = "machine_reports"
MORE_COLUMNS = ("owner VARCHAR", "shipped_version BIGINT", "is_deleted BOOLEAN")
# A row without a reporter is from an older version; it may be the machine's own report or not.
OWN_REPORT_RANK = "CASE WHEN there.reported_by = there.id THEN 2 WHEN there.reported_by IS NULL THEN 1 ELSE 0 END"
NEWEST = "row_number() OVER (PARTITION BY there.id, there.owner ORDER BY there.shipped_version DESC) = 1"
# The reason for an empty GPU list comes from the same report as the list.
TAKEN_WITH = {"gpus_reason": "gpus"}


def merged_machines(scan: str, columns: Iterable[str]) -> str:
    """SQL with one row per machine from `scan`, the shipped versions of machines, with these columns."""
    selected = ", ".join(["there.id", *(_first(name) for name in columns if name != "id")])
    newest = f"SELECT * FROM ({scan}) AS there WHERE NOT coalesce(there.is_deleted, false) QUALIFY {NEWEST}"
    place = f"row_number() OVER (PARTITION BY there.id ORDER BY {OWN_REPORT_RANK} DESC, there.shipped_version DESC)"
    in_order = f"SELECT *, {place} AS place FROM ({newest}) AS there"
    return f"SELECT {selected} FROM ({in_order}) AS there GROUP BY there.id"


def _first(name: str) -> str:
    is_known = f'there."{TAKEN_WITH.get(name, name)}" IS NOT NULL'
    return f'first(there."{name}" ORDER BY there.place) FILTER ({is_known}) AS "{name}"'


def columns_of_machines(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the columns of this version's machine table."""
    rows = connection.execute(
        "SELECT column_name FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = 'raw' "
        "AND table_name = 'machines' ORDER BY column_index"
    ).fetchall()
    return [name for (name,) in rows]


def keep_versions(connection: duckdb.DuckDBPyConnection) -> None:
    """Create raw.machine_reports for all reports about machines, with their reporter and order."""
    connection.execute(f"CREATE TABLE raw.{REPORTS_TABLE} AS FROM raw.machines LIMIT 0")
    for column in MORE_COLUMNS:
        connection.execute(f"ALTER TABLE raw.{REPORTS_TABLE} ADD COLUMN {column}")


def merge_machines(connection: duckdb.DuckDBPyConnection) -> None:
    """Update raw.machines from the reports; done once per change, because every list of runs reads it."""
    merged = merged_machines(f"FROM raw.{REPORTS_TABLE}", columns_of_machines(connection))
    connection.execute(f"DELETE FROM raw.machines; INSERT INTO raw.machines BY NAME {merged}")
