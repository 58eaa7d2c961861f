"""Maintenance of the lake: under a lock, one process merges files, expires snapshots and cleans up."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from storage.lake.config import LakeConfig, LakeError
from storage.lake.connection import LAKE, errors_without_secrets, held, opened_lake
from storage.lake.layout import OF_MACHINES, RECORDS, version_table
from storage.rows import TIME_COLUMNS

KEPT_DAYS = 7  # of snapshots, and of files that nobody names
MOST_DAYS = 36_500
BUSY = "Another process keeps the lake fit now: try again when it has ended."


@dataclass(frozen=True, slots=True)
class Compacted:
    """Data files of the lake before and after, and how many that nobody named any more were deleted."""

    files_before: int
    files_after: int
    deleted: int


def compact(config: LakeConfig, kept_days: float = KEPT_DAYS) -> Compacted:
    """Merge small files, forget old snapshots, delete what nobody names; raises LakeError.

    Waits for the commits under way; shippers wait until it has ended. Readers go on.
    """
    age = moment_before(kept_days)
    with (
        opened_lake(config) as connection,
        errors_without_secrets(config),
        held(connection, "upkeep of one") as is_one,
    ):
        if not is_one:
            raise LakeError(BUSY)
        with held(connection, "upkeep", waits=True):
            before = count_files(connection)
            connection.execute(f"CALL ducklake_merge_adjacent_files('{LAKE}')")
            connection.execute(f"CALL ducklake_expire_snapshots('{LAKE}', older_than => {age})")
            gone = connection.execute(f"CALL ducklake_cleanup_old_files('{LAKE}', older_than => {age})").fetchall()
            gone += connection.execute(f"CALL ducklake_delete_orphaned_files('{LAKE}', older_than => {age})").fetchall()
            return Compacted(before, count_files(connection), len(gone))


def moment_before(days: float) -> str:
    """So many days ago, in SQL; raises LakeError for what is no number of days."""
    if not 0 <= days <= MOST_DAYS:
        raise LakeError(f"Snapshots are kept for 0 to {MOST_DAYS:,} days.")
    return f"now() - to_seconds({days * 86400:f})"


def count_files(connection: duckdb.DuckDBPyConnection) -> int:
    """The data files that the newest snapshot names."""
    row = connection.execute(f"SELECT sum(file_count)::BIGINT FROM ducklake_table_info('{LAKE}')").fetchone()
    return int(row[0] or 0) if row else 0


def check_lake(config: LakeConfig) -> list[str]:
    """A sentence for each thing in the lake that is not as its ledger says; every run's rows are read. LakeError."""
    with opened_lake(config, read_only=True) as connection, errors_without_secrets(config):
        found = [sentence for table in TIME_COLUMNS for sentence in _wrong_rows(connection, table)]
        doubled = connection.execute(
            f"SELECT run_id, table_name, part FROM {LAKE}.shipments GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL"
        ).fetchall()
        found += [f"{table} of {run_id}: part {part} was shipped twice." for run_id, table, part in doubled]
        found += [sentence for table in RECORDS for sentence in _wrong_versions(connection, table)]
        return found + _several_owners(connection)


def _wrong_rows(connection: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    rows = connection.execute(
        f"WITH there AS (SELECT run_id, count(*) AS n FROM {LAKE}.{table} GROUP BY ALL), told AS ("
        f"  SELECT run_id, sum(row_count)::BIGINT AS n FROM {LAKE}.shipments WHERE table_name = ? GROUP BY ALL) "
        "SELECT coalesce(there.run_id, told.run_id) AS run_id, coalesce(there.n, 0), coalesce(told.n, 0) "
        "FROM there FULL JOIN told ON there.run_id = told.run_id WHERE there.n IS DISTINCT FROM told.n ORDER BY 1",
        [table],
    ).fetchall()
    return [f"{table} of {run_id}: {there:,} rows, where {shipped:,} were shipped." for run_id, there, shipped in rows]


def _wrong_versions(connection: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    sql = f"SELECT count(*), count(DISTINCT ({RECORDS[table]}, shipped_version)) FROM {LAKE}.{version_table(table)}"
    rows, keys = connection.execute(sql).fetchone() or (0, 0)
    sent = connection.execute(f"SELECT count(*) FROM {LAKE}.shipments WHERE table_name = ?", [table]).fetchone()
    if rows == keys == (sent or (0,))[0]:
        return []
    return [f"{version_table(table)} has {rows:,} rows of {keys:,} versions, where {(sent or (0,))[0]:,} were shipped."]


def _several_owners(connection: duckdb.DuckDBPyConnection) -> list[str]:
    listed = ", ".join(f"'{table}'" for table in OF_MACHINES)
    rows = connection.execute(
        f"SELECT run_id FROM {LAKE}.shipments WHERE table_name NOT IN ({listed}) "
        "GROUP BY run_id HAVING count(DISTINCT owner) > 1 ORDER BY 1"
    ).fetchall()
    return [f"{run_id} was shipped by more than one data folder." for (run_id,) in rows]
