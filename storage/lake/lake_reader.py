"""Reading the lake: the store's own views over all boxes' runs, and what a copy of some of it is made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa

from storage.ask.literals import quoted
from storage.catalog import define_views, migrate
from storage.database import roll_back
from storage.lake.config import LakeConfig
from storage.lake.connection import LAKE, LOCKS, errors_without_secrets, opened_lake
from storage.lake.layout import RECORDS, lake_columns, version_table
from storage.lake.machines import columns_of_machines, merged_machines
from storage.published_query import Params
from storage.rows import TIME_COLUMNS

NOWHERE = Path("/nonexistent")  # no sealed file is read here
ALIASES = (Path(__file__).parent / "machine_aliases.sql").read_text()
KNOWN_MACHINE = (
    "coalesce((SELECT a.machine_id FROM raw.machine_aliases a WHERE a.alias = lower(runs.machine_id)), machine_id)"
)
# A table's rows are numbered in the order of their commits, and none is ever changed.
ROW_COUNTS = """
    SELECT table_name, next_row_id FROM ducklake_table JOIN ducklake_table_stats USING (table_id)
    WHERE end_snapshot IS NULL
"""

Parts = Mapping[str, int]  # of a run: table -> how many of its parts were shipped


class LakeReader:
    """Answers questions about every run in the lake; used by one thread at a time."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, config: LakeConfig, columns: Mapping[str, str]) -> None:
        """`columns`: of each table what is picked of the lake's."""
        self._connection = connection
        self._config = config
        self._columns = columns

    def query(self, sql: str, params: Params | None = None) -> pa.Table:
        """Raises LakeError."""
        with errors_without_secrets(self._config):
            return self._connection.execute(sql, params).to_arrow_table()

    def row_counts(self) -> dict[str, int]:
        """Table of records -> how many versions it ever got, by one question to PostgreSQL. Raises LakeError."""
        counts = {row["table_name"]: int(row["next_row_id"]) for row in self._in_catalogue(ROW_COUNTS)}
        return {table: counts.get(version_table(table), 0) for table in RECORDS if table in self._columns}

    def parts_of(self, run_ids: Sequence[str]) -> dict[str, Parts]:
        """What was shipped of each of these runs, likewise: a run that has nothing new has the same parts."""
        found: dict[str, dict[str, int]] = {run_id: {} for run_id in run_ids}
        sql = f"SELECT run_id, table_name, count(*) AS parts FROM pitwall_parts {_of(run_ids)} GROUP BY 1, 2"
        for row in self._in_catalogue(sql) if run_ids else ():
            if row["table_name"] in self._columns.keys() & TIME_COLUMNS:
                found[str(row["run_id"])][str(row["table_name"])] = int(row["parts"])
        return dict(found)

    def versions_since(self, table: str, first_row: int) -> pa.Table:
        """The versions of records that were shipped from this row on. Raises LakeError."""
        versions = version_table(table)
        picked = f"{self._columns[table]}, shipped_version, is_deleted, owner"
        return self.query(f"SELECT {picked} FROM {LAKE}.{versions} AS there WHERE rowid >= {first_row}")

    def samples_of(self, run_ids: Sequence[str], tables: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
        """Table by table the rows of these runs, in the order of their shipping and as one moment has them.

        Other runs' files are not read. Raises LakeError.
        """
        with errors_without_secrets(self._config), one_snapshot(self._connection):
            for table in tables:
                scan = f"{LAKE}.{table} AS there {_of(run_ids)} ORDER BY rowid"
                yield table, self.query(f"SELECT {self._columns[table]} FROM {scan}")

    def _in_catalogue(self, sql: str) -> list[dict[str, int | str]]:
        rows: list[dict[str, int | str]] = self.query(f"FROM postgres_query('{LOCKS}', {quoted(sql)})").to_pylist()
        return rows


@contextmanager
def one_snapshot(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """One transaction: the catalogue is asked once for what all of its questions need."""
    connection.begin()
    try:
        yield
    finally:
        roll_back(connection)


@contextmanager
def opened_reader(config: LakeConfig, definitions: pa.Table) -> Iterator[LakeReader]:
    """The lake with all views; `definitions` are the rows of raw.metric_definitions. Raises LakeError."""
    with opened_lake(config, read_only=True) as connection:
        yield LakeReader(connection, config, define_lake_views(connection, definitions))


def define_lake_views(connection: duckdb.DuckDBPyConnection, definitions: pa.Table) -> dict[str, str]:
    """Every view of the store over the lake: its raw tables are views here, of samples whole, of records the newest.

    The columns that are picked of each table; of one that only a newer Pitwall makes there is none, and it is empty.
    """
    migrate(connection)
    there = lake_columns(connection)
    picked = {table: _picked(connection, table, there[table]) for table in TIME_COLUMNS if table in there}
    scans = {table: f"SELECT {columns} FROM {LAKE}.{table} AS there" for table, columns in picked.items()}
    records = [table for table in RECORDS if version_table(table) in there]
    picked |= {table: _picked(connection, table, there[version_table(table)]) for table in records}
    scans |= {table: _newest(table, picked[table]) for table in records if table != "runs"}
    if "machines" in records:
        scans["machines"] = _machines(connection, picked["machines"])
    for table, scan in scans.items():
        replace_table(connection, table, scan)
    connection.execute(f"CREATE OR REPLACE VIEW raw.machine_aliases AS {ALIASES}")
    replace_table(
        connection, "runs", f"SELECT * REPLACE ({KNOWN_MACHINE} AS machine_id) FROM ({_newest('runs', picked['runs'])})"
        " AS runs"
    )  # fmt: skip
    insert(connection, "metric_definitions", definitions)
    define_views(connection, NOWHERE)
    return picked


def replace_table(connection: duckdb.DuckDBPyConnection, table: str, scan: str) -> None:
    """A view in place of a raw table."""
    connection.execute(f"DROP TABLE raw.{table}; CREATE VIEW raw.{table} AS {scan}")


def insert(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Into a raw table, by name."""
    connection.register("incoming", rows)
    connection.execute(f"INSERT INTO raw.{table} BY NAME FROM incoming")
    connection.unregister("incoming")


def _picked(connection: duckdb.DuckDBPyConnection, table: str, there: Mapping[str, str]) -> str:
    """The columns of a raw table; null for one that the lake does not have yet.

    Each with its table: in a view below a macro DuckDB cannot tell a bare name from the macro's parameter.
    """
    rows = connection.execute(
        "SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = current_database() "
        "AND schema_name = 'raw' AND table_name = ? ORDER BY column_index",
        [table],
    ).fetchall()
    return ", ".join(f'there."{name}"' if name in there else f'NULL::{kind} AS "{name}"' for name, kind in rows)


def _newest(table: str, picked: str) -> str:
    """SQL for the newest version of each record, without records of deleted runs."""
    return (
        f"SELECT {picked} FROM (FROM {LAKE}.{version_table(table)} QUALIFY "
        f"row_number() OVER (PARTITION BY {RECORDS[table]} ORDER BY shipped_version DESC) = 1) AS there "
        "WHERE NOT there.is_deleted"
    )


def _machines(connection: duckdb.DuckDBPyConnection, picked: str) -> str:
    versions = f"SELECT {picked}, there.owner, there.shipped_version, there.is_deleted "
    return merged_machines(
        f"{versions} FROM {LAKE}.{version_table('machines')} AS there", columns_of_machines(connection)
    )


def _of(run_ids: Sequence[str]) -> str:
    """An IN of literals: DuckLake leaves out files by it, as it does not by list_contains."""
    return f"WHERE run_id IN ({', '.join(map(quoted, run_ids))})"
