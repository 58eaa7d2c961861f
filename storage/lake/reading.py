"""Reading the lake with the store's own views: of all boxes' runs at once, or of some runs copied beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa

from storage.ask.literals import quoted
from storage.catalog import define_views, migrate
from storage.database import roll_back
from storage.lake.config import LakeConfig
from storage.lake.connection import LAKE, opened_lake, told_without_secrets
from storage.lake.layout import RECORDS, lake_columns, version_table
from storage.reading import Params, Query
from storage.rows import TIME_COLUMNS

COPY_LIMITS = "SET TimeZone = 'UTC'; SET memory_limit = '2GB'; SET temp_directory = ''; SET threads = 2"
NOWHERE = Path("/nonexistent")  # no sealed file is read here
# A server attached by URL from elsewhere is on the machine whose Pitwall tells that name or, alone, that address.
ALIASES = """
CREATE OR REPLACE VIEW raw.machine_aliases AS
SELECT 'remote-' || lower(name) AS alias, min(id) AS machine_id
FROM (
    SELECT id, host_name AS name FROM raw.machines
    UNION SELECT id, unnest(addresses) AS name FROM raw.machines
) GROUP BY alias HAVING count(DISTINCT id) = 1
"""


class LakeReader:
    """Answers `storage.ask`'s questions about every run in the lake; used by one thread at a time."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, config: LakeConfig, columns: Mapping[str, str]) -> None:
        """`columns`: of each sample table what is picked of the lake's."""
        self._connection = connection
        self._config = config
        self._columns = columns

    def query(self, sql: str, params: Params | None = None) -> pa.Table:
        """Raises LakeError."""
        with told_without_secrets(self._config):
            return self._connection.execute(sql, params).to_arrow_table()

    def samples_of(self, run_ids: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
        """Table by table the rows of these runs, in the order of their shipping and as one moment has them.

        Only the tables that the ledger names are asked, and other runs' files are not read. Raises LakeError.
        """
        if not run_ids:
            return
        with told_without_secrets(self._config), one_snapshot(self._connection):
            named = self.query(f"SELECT DISTINCT table_name FROM {LAKE}.shipments {_of(run_ids)}")["table_name"]
            for table in sorted(self._columns.keys() & set(named.to_pylist())):
                yield (
                    table,
                    self.query(f"SELECT {self._columns[table]} FROM {LAKE}.{table} {_of(run_ids)} ORDER BY rowid"),
                )


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

    The columns that are picked of each sample table.
    """
    migrate(connection)
    there = lake_columns(connection)
    picked = {table: _picked(connection, table, there[table]) for table in TIME_COLUMNS}
    scans = {table: f"SELECT {columns} FROM {LAKE}.{table}" for table, columns in picked.items()}
    scans |= {table: _newest(connection, table, there[version_table(table)]) for table in RECORDS if table != "runs"}
    for table, scan in scans.items():
        _replace(connection, table, scan)
    connection.execute(ALIASES)
    runs = _newest(connection, "runs", there[version_table("runs")])
    known = (
        "coalesce((SELECT a.machine_id FROM raw.machine_aliases a WHERE a.alias = lower(runs.machine_id)), machine_id)"
    )
    _replace(connection, "runs", f"SELECT * REPLACE ({known} AS machine_id) FROM ({runs}) AS runs")
    _insert(connection, "metric_definitions", definitions)
    define_views(connection, NOWHERE)
    return picked


def _replace(connection: duckdb.DuckDBPyConnection, table: str, scan: str) -> None:
    connection.execute(f"DROP TABLE raw.{table}; CREATE VIEW raw.{table} AS {scan}")


def _picked(connection: duckdb.DuckDBPyConnection, table: str, there: Mapping[str, str]) -> str:
    """The columns of a raw table; null for one that the lake does not have yet."""
    rows = connection.execute(
        "SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = current_database() "
        "AND schema_name = 'raw' AND table_name = ? ORDER BY column_index",
        [table],
    ).fetchall()
    return ", ".join(f'"{name}"' if name in there else f'NULL::{kind} AS "{name}"' for name, kind in rows)


def _newest(connection: duckdb.DuckDBPyConnection, table: str, there: Mapping[str, str]) -> str:
    """Of each record its newest version; none of a run that was deleted."""
    return (
        f"SELECT {_picked(connection, table, there)} FROM (FROM {LAKE}.{version_table(table)} QUALIFY "
        f"row_number() OVER (PARTITION BY {RECORDS[table]} ORDER BY shipped_version DESC) = 1) WHERE NOT is_deleted"
    )


def _of(run_ids: Sequence[str]) -> str:
    """An IN of literals: DuckLake leaves out files by it, as it does not by list_contains."""
    return f"WHERE run_id IN ({', '.join(map(quoted, run_ids))})"


class RunCopies:
    """Some runs with all that is stored of them, in a DuckDB of their own in memory; answers like a store."""

    def __init__(self, definitions: pa.Table) -> None:
        self._connection = duckdb.connect()
        self._connection.execute(COPY_LIMITS)
        migrate(self._connection)
        define_views(self._connection, NOWHERE)
        _insert(self._connection, "metric_definitions", definitions)

    def add_records(self, query: Query) -> None:
        """Every run, machine and label of a store or a lake that is not known yet."""
        for table, key in RECORDS.items():
            self._connection.register("incoming", query(f"FROM raw.{table}"))
            self._connection.execute(
                f"INSERT INTO raw.{table} BY NAME FROM incoming WHERE {key} NOT IN (SELECT {key} FROM raw.{table})"
            )
            self._connection.unregister("incoming")

    def add_samples(self, tables: Iterable[tuple[str, pa.Table]]) -> None:
        """Rows of runs, table by table."""
        for table, rows in tables:
            _insert(self._connection, table, rows)

    def query(self, sql: str, params: Params | None = None) -> pa.Table:
        """Raises duckdb.Error, as a store does; safe from any thread."""
        with self._connection.cursor() as cursor:
            return cursor.execute(sql, params).to_arrow_table()


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    connection.register("incoming", rows)
    connection.execute(f"INSERT INTO raw.{table} BY NAME FROM incoming")
    connection.unregister("incoming")
