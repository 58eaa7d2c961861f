"""Maintenance of the lake: under a lock, one process merges files, expires snapshots and cleans up."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from storage.lake.config import LakeConfig, LakeError
from storage.lake.connection import LAKE, advisory_lock, errors_without_secrets, opened_lake
from storage.lake.layout import MACHINE_TABLES, RECORDS, version_table
from storage.rows import TIME_COLUMNS

KEPT_DAYS = 7  # of snapshots and unreferenced files
MOST_DAYS = 36_500
LAKE_BUSY = "Another process is maintaining the lake: try again when it has finished."


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """The number of the lake's data files before and after, and of deleted unreferenced files."""

    files_before: int
    files_after: int
    deleted: int


def compact(config: LakeConfig, kept_days: float = KEPT_DAYS) -> CompactionResult:
    """Merge small files, expire old snapshots and delete unreferenced files; raises LakeError.

    Waits for running commits and blocks new ones meanwhile; readers are not affected.
    """
    cutoff = cutoff_sql(kept_days)
    with (
        opened_lake(config) as connection,
        errors_without_secrets(config),
        advisory_lock(connection, "upkeep of one") as is_only,
    ):
        if not is_only:
            raise LakeError(LAKE_BUSY)
        with advisory_lock(connection, "upkeep", waits=True):
            before = count_files(connection)
            connection.execute(f"CALL ducklake_merge_adjacent_files('{LAKE}')")
            connection.execute(f"CALL ducklake_expire_snapshots('{LAKE}', older_than => {cutoff})")
            deleted_files = connection.execute(
                f"CALL ducklake_cleanup_old_files('{LAKE}', older_than => {cutoff})"
            ).fetchall()
            deleted_files += connection.execute(
                f"CALL ducklake_delete_orphaned_files('{LAKE}', older_than => {cutoff})"
            ).fetchall()
            return CompactionResult(before, count_files(connection), len(deleted_files))


def cutoff_sql(days: float) -> str:
    """SQL for the time so many days ago; raises LakeError if the number is out of range."""
    if not 0 <= days <= MOST_DAYS:
        raise LakeError(f"Snapshots are kept for 0 to {MOST_DAYS:,} days.")
    return f"now() - to_seconds({days * 86400:f})"


def count_files(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the number of data files in the newest snapshot."""
    row = connection.execute(f"SELECT sum(file_count)::BIGINT FROM ducklake_table_info('{LAKE}')").fetchone()
    return int(row[0] or 0) if row else 0


def check_lake(config: LakeConfig) -> list[str]:
    """Return a sentence for each difference between the lake and its ledger; reads all rows. Raises LakeError."""
    with opened_lake(config, read_only=True) as connection, errors_without_secrets(config):
        problems = [sentence for table in TIME_COLUMNS for sentence in _wrong_rows(connection, table)]
        doubled = connection.execute(
            f"SELECT run_id, table_name, part FROM {LAKE}.shipments GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL"
        ).fetchall()
        problems += [f"{table} of {run_id}: part {part} was shipped twice." for run_id, table, part in doubled]
        problems += [sentence for table in RECORDS for sentence in _wrong_versions(connection, table)]
        return problems + _several_owners(connection)


def _wrong_rows(connection: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    rows = connection.execute(
        f"WITH stored AS (SELECT run_id, count(*) AS n FROM {LAKE}.{table} GROUP BY ALL), shipped AS ("
        f"  SELECT run_id, sum(row_count)::BIGINT AS n FROM {LAKE}.shipments WHERE table_name = ? GROUP BY ALL) "
        "SELECT coalesce(stored.run_id, shipped.run_id) AS run_id, coalesce(stored.n, 0), coalesce(shipped.n, 0) "
        "FROM stored FULL JOIN shipped ON stored.run_id = shipped.run_id "
        "WHERE stored.n IS DISTINCT FROM shipped.n ORDER BY 1",
        [table],
    ).fetchall()
    return [
        f"{table} of {run_id}: {row_count:,} rows, where {shipped:,} were shipped."
        for run_id, row_count, shipped in rows
    ]


def _wrong_versions(connection: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    sql = f"SELECT count(*), count(DISTINCT ({RECORDS[table]}, shipped_version)) FROM {LAKE}.{version_table(table)}"
    rows, keys = connection.execute(sql).fetchone() or (0, 0)
    shipped = connection.execute(f"SELECT count(*) FROM {LAKE}.shipments WHERE table_name = ?", [table]).fetchone()
    if rows == keys == (shipped or (0,))[0]:
        return []
    return [
        f"{version_table(table)} has {rows:,} rows of {keys:,} versions, where {(shipped or (0,))[0]:,} were shipped."
    ]


def _several_owners(connection: duckdb.DuckDBPyConnection) -> list[str]:
    listed = ", ".join(f"'{table}'" for table in MACHINE_TABLES)
    rows = connection.execute(
        f"SELECT run_id FROM {LAKE}.shipments WHERE table_name NOT IN ({listed}) "
        "GROUP BY run_id HAVING count(DISTINCT owner) > 1 ORDER BY 1"
    ).fetchall()
    return [f"{run_id} was shipped by more than one data folder." for (run_id,) in rows]
