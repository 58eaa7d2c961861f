"""What a machine is, where several data folders report it: its own word first, and a null hides no value."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb

TOLD = "told_machines"
MORE_COLUMNS = ("owner VARCHAR", "shipped_version BIGINT", "is_deleted BOOLEAN")
# A row that does not say who reported it is of an older Pitwall; its own word or another's is not known.
ITS_OWN = "CASE WHEN there.told_by = there.id THEN 2 WHEN there.told_by IS NULL THEN 1 ELSE 0 END"
NEWEST = "row_number() OVER (PARTITION BY there.id, there.owner ORDER BY there.shipped_version DESC) = 1"
# Why no GPU is listed belongs to the list: it is taken from where that is taken.
TOGETHER = {"gpus_reason": "gpus"}


def merged_machines(scan: str, columns: Iterable[str]) -> str:
    """One row a machine of `scan`, the versions that data folders shipped of it, with these columns."""
    kept = ", ".join(["there.id", *(_first(name) for name in columns if name != "id")])
    newest = f"SELECT * FROM ({scan}) AS there WHERE NOT coalesce(there.is_deleted, false) QUALIFY {NEWEST}"
    placed = f"row_number() OVER (PARTITION BY there.id ORDER BY {ITS_OWN} DESC, there.shipped_version DESC)"
    in_order = f"SELECT *, {placed} AS place FROM ({newest}) AS there"
    return f"SELECT {kept} FROM ({in_order}) AS there GROUP BY there.id"


def _first(name: str) -> str:
    known = f'there."{TOGETHER.get(name, name)}" IS NOT NULL'
    return f'first(there."{name}" ORDER BY there.place) FILTER ({known}) AS "{name}"'


def columns_of_machines(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """As this Pitwall's own table has them."""
    rows = connection.execute(
        "SELECT column_name FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = 'raw' "
        "AND table_name = 'machines' ORDER BY column_index"
    ).fetchall()
    return [name for (name,) in rows]


def keep_versions(connection: duckdb.DuckDBPyConnection) -> None:
    """Make raw.told_machines, which takes all that was reported of machines, by whom and in which order."""
    connection.execute(f"CREATE TABLE raw.{TOLD} AS FROM raw.machines LIMIT 0")
    for column in MORE_COLUMNS:
        connection.execute(f"ALTER TABLE raw.{TOLD} ADD COLUMN {column}")


def merge_machines(connection: duckdb.DuckDBPyConnection) -> None:
    """Bring raw.machines up to what was reported: once when it changes, for each list of runs asks for them."""
    merged = merged_machines(f"FROM raw.{TOLD}", columns_of_machines(connection))
    connection.execute(f"DELETE FROM raw.machines; INSERT INTO raw.machines BY NAME {merged}")
