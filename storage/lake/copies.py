"""What was read of the lake, in DuckDBs of their own in memory: the records of all boxes, and some runs' samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from storage.catalog import define_views, migrate
from storage.database import roll_back
from storage.lake.lake_reader import ALIASES, KNOWN_MACHINE, NOWHERE, LakeReader, insert
from storage.lake.layout import RECORDS
from storage.lake.machines import TOLD, keep_versions, merge_machines
from storage.published_query import Params, Query
from storage.rows import TIME_COLUMNS

LIMITS = "SET TimeZone = 'UTC'; SET memory_limit = '2GB'; SET temp_directory = ''; SET threads = 2"
WITH_KNOWN_MACHINES = f"""
ALTER TABLE raw.runs RENAME TO told_runs;
CREATE VIEW raw.runs AS SELECT * REPLACE ({KNOWN_MACHINE} AS machine_id) FROM raw.told_runs AS runs
"""
KNOWN_ALIASES = f"DELETE FROM raw.machine_aliases; INSERT INTO raw.machine_aliases {ALIASES}"
OF_ONE_OWNER = {table: key for table, key in RECORDS.items() if table != "machines"}


class _Copy:
    """A store's tables and views in memory; one thread writes, any may ask."""

    def __init__(self, definitions: pa.Table, more: str = "") -> None:
        self._connection = duckdb.connect()
        self._connection.execute(LIMITS)
        migrate(self._connection)
        keep_versions(self._connection)
        self._connection.execute(more)
        define_views(self._connection, NOWHERE)
        insert(self._connection, "metric_definitions", definitions)

    def query(self, sql: str, params: Params | None = None) -> pa.Table:
        """Raises duckdb.Error, as a store does; safe from any thread."""
        with self._connection.cursor() as cursor:
            return cursor.execute(sql, params).to_arrow_table()

    @contextmanager
    def _changing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """All of it or nothing: who asks meanwhile sees what was there."""
        self._connection.begin()
        try:
            yield self._connection
            self._connection.commit()
        finally:
            roll_back(self._connection)


class LakeRecords(_Copy):
    """Every run, note, machine and label in the lake; answers the questions that need no sample."""

    def __init__(self, definitions: pa.Table) -> None:
        super().__init__(definitions, f"CREATE TABLE raw.machine_aliases AS {ALIASES};{WITH_KNOWN_MACHINES}")
        self._rows = dict.fromkeys(RECORDS, 0)
        self.changes = 0

    def renew(self, reader: LakeReader) -> None:
        """Read what was shipped since; where nothing was, that costs one question. Raises LakeError."""
        for table, there in reader.row_counts().items():
            if there > self._rows[table]:
                self._take(table, reader.versions_since(table, self._rows[table]))
                self._rows[table] = there
                self.changes += 1

    def _take(self, table: str, versions: pa.Table) -> None:
        """Replace each record by its newest version; of a machine, keep what every store says of it."""
        if table == "machines":
            with self._changing() as connection:
                insert(connection, TOLD, versions)
                merge_machines(connection)
                connection.execute(KNOWN_ALIASES)
            return
        key, kept = RECORDS[table], "told_runs" if table == "runs" else table
        newest = f"FROM incoming QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY shipped_version DESC) = 1"
        with self._changing() as connection:
            connection.register("incoming", versions)
            connection.execute(
                f"DELETE FROM raw.{kept} WHERE {key} IN (SELECT {key} FROM incoming);"
                f"INSERT INTO raw.{kept} BY NAME "
                f"SELECT * EXCLUDE (shipped_version, is_deleted, owner) FROM ({newest}) WHERE NOT is_deleted"
            )
            connection.unregister("incoming")


class RunCopies(_Copy):
    """Some runs with all that is stored of them, among the records of every run; answers like a store."""

    def take_records(self, queries: Iterable[Query]) -> None:
        """Every record of a store and a lake, in place of what was known; of one that both have, the first's.

        Of a machine it is the one that is its own word.
        """
        with self._changing() as connection:
            for table in (*OF_ONE_OWNER, TOLD):
                connection.execute(f"DELETE FROM raw.{table}")
            for place, query in enumerate(queries):
                self._add_records(query)
                machines = f"SELECT *, '{place}' AS owner, {-place} AS shipped_version FROM raw.machines"
                insert(connection, TOLD, query(machines))
            merge_machines(connection)

    def _add_records(self, query: Query) -> None:
        for table, key in OF_ONE_OWNER.items():
            self._connection.register("incoming", query(f"FROM raw.{table}"))
            self._connection.execute(
                f"INSERT INTO raw.{table} BY NAME FROM incoming WHERE {key} NOT IN (SELECT {key} FROM raw.{table})"
            )
            self._connection.unregister("incoming")

    def take_samples(self, run_ids: Sequence[str], tables: Iterable[tuple[str, pa.Table]]) -> None:
        """All rows of these runs, in place of those that were known; all of it or nothing."""
        with self._changing() as connection:
            for table in TIME_COLUMNS:
                connection.execute(f"DELETE FROM raw.{table} WHERE list_contains(?, run_id)", [list(run_ids)])
            for table, rows in tables:
                insert(connection, table, rows)
