"""In-memory DuckDB copies of lake data: the records of all machines, and the samples of some runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from storage.catalog import define_views, migrate
from storage.database import roll_back
from storage.lake.lake_reader import ALIASES, KNOWN_MACHINE, NO_FOLDER, LakeReader, insert
from storage.lake.layout import RECORDS
from storage.lake.machines import REPORTS_TABLE, keep_versions, merge_machines
from storage.published_query import Params, QueryFunction
from storage.rows import TIME_COLUMNS
from storage.whole_results import query_whole

LIMITS = "SET TimeZone = 'UTC'; SET memory_limit = '2GB'; SET temp_directory = ''; SET threads = 2"
WITH_KNOWN_MACHINES = f"""
ALTER TABLE raw.runs RENAME TO reported_runs;
CREATE VIEW raw.runs AS SELECT * REPLACE ({KNOWN_MACHINE} AS machine_id) FROM raw.reported_runs AS runs
"""
KNOWN_ALIASES = f"DELETE FROM raw.machine_aliases; INSERT INTO raw.machine_aliases {ALIASES}"
SINGLE_OWNER_TABLES = {table: key for table, key in RECORDS.items() if table != "machines"}


class _MemoryCopy:
    """A store's tables and views in memory; one thread writes, any thread may query."""

    def __init__(self, definitions: pa.Table, extra_sql: str = "") -> None:
        self._connection = duckdb.connect()
        self._connection.execute(LIMITS)
        migrate(self._connection)
        keep_versions(self._connection)
        self._connection.execute(extra_sql)
        define_views(self._connection, NO_FOLDER)
        insert(self._connection, "metric_definitions", definitions)

    def query(self, sql: str, params: Params | None = None) -> pa.Table:
        """Return the rows of a statement; raises duckdb.Error, as a store does. Thread-safe."""
        with self._connection.cursor() as cursor:
            return query_whole(cursor, sql, params)

    @contextmanager
    def _transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A transaction; concurrent queries see the state before it."""
        self._connection.begin()
        try:
            yield self._connection
            self._connection.commit()
        finally:
            roll_back(self._connection)


class LakeRecords(_MemoryCopy):
    """Every run, note, machine and label in the lake, for queries that need no samples."""

    def __init__(self, definitions: pa.Table) -> None:
        super().__init__(definitions, f"CREATE TABLE raw.machine_aliases AS {ALIASES};{WITH_KNOWN_MACHINES}")
        self._rows = dict.fromkeys(RECORDS, 0)
        self.changes = 0

    def renew(self, reader: LakeReader) -> None:
        """Read newly shipped records; costs one query if there are none. Raises LakeError."""
        for table, row_count in reader.row_counts().items():
            if row_count > self._rows[table]:
                self._replace_records(table, reader.versions_since(table, self._rows[table]))
                self._rows[table] = row_count
                self.changes += 1

    def _replace_records(self, table: str, versions: pa.Table) -> None:
        """Replace each record by its newest version; for a machine, keep the report of every store."""
        if table == "machines":
            with self._transaction() as connection:
                insert(connection, REPORTS_TABLE, versions)
                merge_machines(connection)
                connection.execute(KNOWN_ALIASES)
            return
        key, raw_table = RECORDS[table], "reported_runs" if table == "runs" else table
        newest = f"FROM incoming QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY shipped_version DESC) = 1"
        with self._transaction() as connection:
            connection.register("incoming", versions)
            connection.execute(
                f"DELETE FROM raw.{raw_table} WHERE {key} IN (SELECT {key} FROM incoming);"
                f"INSERT INTO raw.{raw_table} BY NAME "
                f"SELECT * EXCLUDE (shipped_version, is_deleted, owner) FROM ({newest}) WHERE NOT is_deleted"
            )
            connection.unregister("incoming")


class RunCopies(_MemoryCopy):
    """The samples of some runs and the records of every run, with the query interface of a store."""

    def set_records(self, queries: Iterable[QueryFunction]) -> None:
        """Replace all records by those of a store and a lake; the first one wins if both have a record.

        For a machine, its own report wins.
        """
        with self._transaction() as connection:
            for table in (*SINGLE_OWNER_TABLES, REPORTS_TABLE):
                connection.execute(f"DELETE FROM raw.{table}")
            for index, query in enumerate(queries):
                self._add_records(query)
                machines = f"SELECT *, '{index}' AS owner, {-index} AS shipped_version FROM raw.machines"
                insert(connection, REPORTS_TABLE, query(machines))
            merge_machines(connection)

    def _add_records(self, query: QueryFunction) -> None:
        for table, key in SINGLE_OWNER_TABLES.items():
            self._connection.register("incoming", query(f"FROM raw.{table}"))
            self._connection.execute(
                f"INSERT INTO raw.{table} BY NAME FROM incoming WHERE {key} NOT IN (SELECT {key} FROM raw.{table})"
            )
            self._connection.unregister("incoming")

    def set_samples(self, run_ids: Sequence[str], tables: Iterable[tuple[str, pa.Table]]) -> None:
        """Replace all rows of these runs in one transaction."""
        with self._transaction() as connection:
            for table in TIME_COLUMNS:
                connection.execute(f"DELETE FROM raw.{table} WHERE list_contains(?, run_id)", [list(run_ids)])
            for table, rows in tables:
                insert(connection, table, rows)
