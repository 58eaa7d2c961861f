"""Reads the lake: the store's views over the runs of all machines, and the data for local copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa

from storage.catalog import define_views, migrate
from storage.database import roll_back
from storage.lake.config import LakeConfig
from storage.lake.connection import LAKE, LOCKS, errors_without_secrets, opened_lake
from storage.lake.layout import RECORDS, lake_columns, version_table
from storage.lake.machines import columns_of_machines, merged_machines
from storage.published_query import Params
from storage.queries.literals import quoted
from storage.rows import TIME_COLUMNS

NO_FOLDER = Path("/nonexistent")  # no sealed file is read here
ALIASES = (Path(__file__).parent / "machine_aliases.sql").read_text()
KNOWN_MACHINE = (
    "coalesce((SELECT a.machine_id FROM raw.machine_aliases a WHERE a.alias = lower(runs.machine_id)), machine_id)"
)
# A table's rows are numbered in the order of their commits, and none is ever changed.
ROW_COUNTS = """
    SELECT table_name, next_row_id FROM ducklake_table JOIN ducklake_table_stats USING (table_id)
    WHERE end_snapshot IS NULL
"""

Parts = Mapping[str, int]  # of a run: table -> number of shipped parts


class LakeReader:
    """Runs queries on all runs in the lake; used by one thread at a time."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, config: LakeConfig, columns: Mapping[str, str]) -> None:
        """`columns`: the selected columns of each table of the lake."""
        self._connection = connection
        self._config = config
        self._columns = columns

    def query(self, sql: str, params: Params | None = None) -> pa.Table:
        """Return the rows of a statement; raises LakeError."""
        with errors_without_secrets(self._config):
            return self._connection.execute(sql, params).to_arrow_table()

    def row_counts(self) -> dict[str, int]:
        """Return the number of versions ever written to each record table, by one query. Raises LakeError."""
        counts = {row["table_name"]: int(row["next_row_id"]) for row in self._in_catalogue(ROW_COUNTS)}
        return {table: counts.get(version_table(table), 0) for table in RECORDS if table in self._columns}

    def parts_of(self, run_ids: Sequence[str]) -> dict[str, Parts]:
        """Return the number of shipped parts of each run by table; unchanged for a run without new data."""
        parts_by_run: dict[str, dict[str, int]] = {run_id: {} for run_id in run_ids}
        sql = f"SELECT run_id, table_name, count(*) AS parts FROM pitwall_parts {_where_runs(run_ids)} GROUP BY 1, 2"
        for row in self._in_catalogue(sql) if run_ids else ():
            if row["table_name"] in self._columns.keys() & TIME_COLUMNS:
                parts_by_run[str(row["run_id"])][str(row["table_name"])] = int(row["parts"])
        return dict(parts_by_run)

    def versions_since(self, table: str, first_row: int) -> pa.Table:
        """Return the record versions shipped from this row on. Raises LakeError."""
        versions = version_table(table)
        columns = f"{self._columns[table]}, shipped_version, is_deleted, owner"
        return self.query(f"SELECT {columns} FROM {LAKE}.{versions} AS there WHERE rowid >= {first_row}")

    def samples_of(self, run_ids: Sequence[str], tables: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
        """Yield each table's rows of these runs, in shipping order and from one snapshot.

        Files of other runs are not read. Raises LakeError.
        """
        with errors_without_secrets(self._config), one_snapshot(self._connection):
            for table in tables:
                scan = f"{LAKE}.{table} AS there {_where_runs(run_ids)} ORDER BY rowid"
                yield table, self.query(f"SELECT {self._columns[table]} FROM {scan}")

    def _in_catalogue(self, sql: str) -> list[dict[str, int | str]]:
        rows: list[dict[str, int | str]] = self.query(f"FROM postgres_query('{LOCKS}', {quoted(sql)})").to_pylist()
        return rows


@contextmanager
def one_snapshot(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """One transaction, so that all queries share one read of the catalogue."""
    connection.begin()
    try:
        yield
    finally:
        roll_back(connection)


@contextmanager
def opened_reader(config: LakeConfig, definitions: pa.Table) -> Iterator[LakeReader]:
    """Open the lake with all views; `definitions` are the rows of raw.metric_definitions. Raises LakeError."""
    with opened_lake(config, read_only=True) as connection:
        yield LakeReader(connection, config, define_lake_views(connection, definitions))


def define_lake_views(connection: duckdb.DuckDBPyConnection, definitions: pa.Table) -> dict[str, str]:
    """Define the store's views over the lake: sample tables are views of all rows, record tables of the newest version.

    Returns the selected columns of each table; tables missing in the lake are absent and stay empty.
    """
    migrate(connection)
    lake_tables = lake_columns(connection)
    column_lists = {
        table: _column_list(connection, table, lake_tables[table]) for table in TIME_COLUMNS if table in lake_tables
    }
    scans = {table: f"SELECT {columns} FROM {LAKE}.{table} AS there" for table, columns in column_lists.items()}
    records = [table for table in RECORDS if version_table(table) in lake_tables]
    column_lists |= {table: _column_list(connection, table, lake_tables[version_table(table)]) for table in records}
    scans |= {table: _newest(table, column_lists[table]) for table in records if table != "runs"}
    if "machines" in records:
        scans["machines"] = _machines(connection, column_lists["machines"])
    for table, scan in scans.items():
        replace_with_view(connection, table, scan)
    connection.execute(f"CREATE OR REPLACE VIEW raw.machine_aliases AS {ALIASES}")
    newest_runs = _newest("runs", column_lists["runs"])
    replace_with_view(
        connection, "runs", f"SELECT * REPLACE ({KNOWN_MACHINE} AS machine_id) FROM ({newest_runs}) AS runs"
    )
    insert(connection, "metric_definitions", definitions)
    define_views(connection, NO_FOLDER)
    return column_lists


def replace_with_view(connection: duckdb.DuckDBPyConnection, table: str, scan: str) -> None:
    """Replace a raw table with a view."""
    connection.execute(f"DROP TABLE raw.{table}; CREATE VIEW raw.{table} AS {scan}")


def insert(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Insert rows into a raw table, matching columns by name."""
    connection.register("incoming", rows)
    connection.execute(f"INSERT INTO raw.{table} BY NAME FROM incoming")
    connection.unregister("incoming")


def _column_list(connection: duckdb.DuckDBPyConnection, table: str, lake_types: Mapping[str, str]) -> str:
    """The columns of a raw table; null for a column that the lake lacks.

    Column names are qualified: in a view below a macro DuckDB confuses a bare name with the macro's parameter.
    """
    rows = connection.execute(
        "SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = current_database() "
        "AND schema_name = 'raw' AND table_name = ? ORDER BY column_index",
        [table],
    ).fetchall()
    return ", ".join(
        f'there."{name}"' if name in lake_types else f'NULL::{data_type} AS "{name}"' for name, data_type in rows
    )


def _newest(table: str, columns: str) -> str:
    """SQL for the newest version of each record, without records of deleted runs."""
    return (
        f"SELECT {columns} FROM (FROM {LAKE}.{version_table(table)} QUALIFY "
        f"row_number() OVER (PARTITION BY {RECORDS[table]} ORDER BY shipped_version DESC) = 1) AS there "
        "WHERE NOT there.is_deleted"
    )


def _machines(connection: duckdb.DuckDBPyConnection, columns: str) -> str:
    versions = f"SELECT {columns}, there.owner, there.shipped_version, there.is_deleted "
    return merged_machines(
        f"{versions} FROM {LAKE}.{version_table('machines')} AS there", columns_of_machines(connection)
    )


def _where_runs(run_ids: Sequence[str]) -> str:
    """A WHERE with an IN of literals, by which DuckLake skips files; list_contains does not have this effect."""
    return f"WHERE run_id IN ({', '.join(map(quoted, run_ids))})"
