"""Moves rows that will hardly change to sorted Parquet files, to keep the copy published every 2 s small.

A file is complete on disk before one transaction deletes the rows and records the file. After a kill either the rows or
the file are valid; at worst an unreferenced file remains.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

import duckdb

from settings import Settings
from storage.catalog import name_sealed_files
from storage.database import Database, StoreError
from storage.files.checksums import INTACT_FILES_SQL, ChecksumRecord, ChecksumRound
from storage.files.deletions import RunBin
from storage.files.lost_files import FileCheck, LostFile, check_content, check_ends, read_lost_files, record_lost_files
from storage.files.manifest import ORPHAN_AGE_S, commit_to_disk, new_path, record_part, remove_orphans
from storage.files.merge import SmallFile, record_merged, small_files, start_grace_period, write_merged
from storage.queries.literals import quoted
from storage.rows import TIME_COLUMNS

EVERY_S = 30.0
# DuckDB 1.5.5 leaks about 0.7 KB per query with a sort, group or window until its file is closed: tens of MiB per hour.
REOPEN_TICKS = 60  # ticks
SWEEP_TICKS = int(ORPHAN_AGE_S / EVERY_S)  # ticks
SETTLE_TIME = timedelta(seconds=60)  # a run's last lines may arrive after its end
LIVE_AGE = timedelta(minutes=10)  # rows of live runs, and of no run, are sealed when they are older
LIVE_ROWS = 2_000  # and this many, so that a long run has few files
PORTIONS_PER_TICK = 64  # the rest follows in the next tick
READ_WHOLE_EVERY_S = 600.0
# DuckDB's errors for a missing, invalid or damaged file; duckdb.Error itself, not its subclasses.
READ_FAILURES = (duckdb.IOException, duckdb.InvalidInputException, duckdb.Error)
MAX_WAITING_FILES = 1_024  # small files that wait until no run is live; beyond this they are merged anyway


class Portion(NamedTuple):
    """Rows of one table and one run up to a time."""

    table: str
    run_id: str | None
    until: datetime


class SealedDraft(NamedTuple):
    """A finished Parquet file of one table and one run that waits to be recorded."""

    table: str
    run_id: str | None
    path: Path
    rows: int


class Sealer:
    """A thread that seals due rows and periodically reopens the store; `seal_due` may be called directly."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        clock: Callable[[], datetime],
        on_sealed: Callable[[], None],
        run_bin: RunBin,
    ) -> None:
        self.failure: str | None = None
        self.lost_files: list[LostFile] = []  # sealed files left out now, by run
        self._next_content_check_s = 0.0  # monotonic
        self._parquet_dir = settings.parquet_dir.absolute()
        self._database = database
        self._clock = clock
        self._on_sealed = on_sealed
        self._run_bin = run_bin
        self._tick_lock = threading.Lock()  # concurrent work would use the same rows and file name
        self._closing = threading.Event()
        self._checksums = ChecksumRound(self._parquet_dir, self._closing.is_set)
        self._thread = threading.Thread(target=self._run, name="store-sealer", daemon=True)

    def start(self) -> None:
        """Start sealing in the background, every 30 s; files left by a kill are removed first."""
        self._thread.start()

    def close(self) -> None:
        """End the thread after its current work; waits without a limit."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        """Look for orphans in the background, because it may take ten seconds on a slow disk; then tick."""
        self._try(self.remove_orphans)
        ticks = 0
        while not self._closing.wait(EVERY_S):
            ticks += 1
            self._try(partial(self._tick, ticks))

    def _try(self, work: Callable[[], object]) -> None:
        try:
            work()
            self.failure = None
        except (OSError, duckdb.Error, StoreError) as error:
            self.failure = f"Rows could not be sealed: {str(error).splitlines()[0]}"

    def _tick(self, ticks: int) -> None:
        self.seal_due()
        self.merge_due(beside_runs=False)
        self.purge_due()
        self.compare_checksums()
        if ticks % SWEEP_TICKS == 0:
            self._run_bin.apply_rule()
            self.remove_orphans()
        if ticks % REOPEN_TICKS == 0:
            self._database.reopen()

    def seal_due(self) -> int:
        """Seal a bounded number of due portions in one transaction; return the number of files written."""
        with self._tick_lock:
            portions = self._due(self._clock())[:PORTIONS_PER_TICK]
            if portions:
                with self._database.transaction() as cursor:
                    for portion in portions:
                        self._seal(cursor, portion)
                    name_sealed_files(cursor, self._parquet_dir)
                self._on_sealed()
            return len(portions)

    def purge_due(self) -> int:
        """Remove runs deleted more than a day ago; return their number. Raises as `merge_due`."""
        with self._tick_lock:
            return self._run_bin.purge_due()

    def merge_due(self, beside_runs: bool = True) -> int:
        """Merge small files of ended runs; while a run is live only on demand, or if too many files wait.

        Returns the number of files written. Raises StoreError, duckdb.Error or OSError; unreadable files are left out.
        """
        with self._tick_lock:
            groups = self._small_files(beside_runs)
            for files in groups:
                try:
                    self._merge(files)
                except (duckdb.Error, StoreError):
                    self._record_lost(check_content)
                    raise
        if groups:
            self._on_sealed()
        return len(groups)

    def _small_files(self, beside_runs: bool) -> list[list[SmallFile]]:
        with self._database.cursor() as cursor:
            groups = small_files(cursor, self._parquet_dir, self._clock() - SETTLE_TIME)
            live = cursor.execute("SELECT count(*) FROM raw.runs WHERE state NOT IN ('finished', 'failed')").fetchone()
        is_allowed = beside_runs or live == (0,) or sum(map(len, groups)) > MAX_WAITING_FILES
        return groups if is_allowed else []

    def _merge(self, files: list[SmallFile]) -> None:
        merged = write_merged(self._parquet_dir, files)
        with self._database.transaction() as cursor:
            record_merged(cursor, self._parquet_dir, merged)
            name_sealed_files(cursor, self._parquet_dir)
        start_grace_period(self._parquet_dir, [file.file for file in files])

    def record_lost(self, check: FileCheck = check_ends) -> bool:
        """Leave out missing or damaged sealed files and accept intact ones again; return whether anything changed.

        If the store cannot be written, nothing changes.
        """
        with self._tick_lock:
            has_changed = self._record_lost(check)
        if has_changed:
            self._on_sealed()
        return has_changed

    def handle_read_failure(self, failure: duckdb.Error) -> None:
        """Leave out files that may have caused a failed query: checked by their ends, else read completely.

        Reading all files takes a while on a large store, so it happens at most every ten minutes.
        """
        if type(failure) not in READ_FAILURES:
            return
        with self._tick_lock:  # a second query that failed on the file waits here for the first check
            has_changed = self._record_lost(check_ends)
            if not has_changed and time.monotonic() >= self._next_content_check_s:
                has_changed = self._record_lost(check_content)
                self._next_content_check_s = time.monotonic() + READ_WHOLE_EVERY_S
        if has_changed:
            self._on_sealed()

    def compare_checksums(self) -> bool:
        """Check the next sealed files against their checksums and leave out altered ones; return whether any were."""
        changed_files = self._checksums.changed_files(self._intact_records)
        return bool(changed_files) and self.record_lost(
            lambda file: (check_content if file.path in changed_files else check_ends)(file)
        )

    def _intact_records(self) -> list[ChecksumRecord]:
        with self._database.cursor() as cursor:
            return [ChecksumRecord(*row) for row in cursor.execute(INTACT_FILES_SQL).fetchall()]

    def _record_lost(self, check: FileCheck) -> bool:
        try:
            with self._database.transaction() as cursor:
                has_changed = record_lost_files(cursor, self._parquet_dir, check)
                if has_changed:
                    name_sealed_files(cursor, self._parquet_dir)
                    lost_files = read_lost_files(lambda sql, params=None: cursor.execute(sql).to_arrow_table())
        except (duckdb.Error, StoreError):
            return False
        if has_changed:  # after the views were redefined without the files
            self.lost_files = lost_files
        return has_changed

    def _due(self, now: datetime) -> list[Portion]:
        with self._database.cursor() as cursor:
            return [
                Portion(table, **row)
                for table, column in TIME_COLUMNS.items()
                for row in cursor.execute(_due_sql(table, column), _due_params(now)).to_arrow_table().to_pylist()
            ]

    def _seal(self, cursor: duckdb.DuckDBPyConnection, portion: Portion) -> None:
        path = new_path(cursor, self._parquet_dir, portion.table, portion.run_id)
        draft = path.with_suffix(".draft")
        try:
            rows = _copy(cursor, portion, draft)
            commit_to_disk(draft, path)
        finally:
            draft.unlink(missing_ok=True)
        _delete(cursor, portion)
        record_part(cursor, self._parquet_dir, path, portion.run_id, rows, self._clock())

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause sealing while the caller changes sealed files: concurrent view definitions would conflict."""
        with self._tick_lock:
            yield

    def add_drafts(self, cursor: duckdb.DuckDBPyConnection, drafts: Iterable[SealedDraft]) -> None:
        """Record files written elsewhere, in the caller's transaction."""
        for draft in drafts:
            path = new_path(cursor, self._parquet_dir, draft.table, draft.run_id)
            commit_to_disk(draft.path, path)
            record_part(cursor, self._parquet_dir, path, draft.run_id, draft.rows, self._clock())
        name_sealed_files(cursor, self._parquet_dir)

    def remove_orphans(self) -> int:
        """Delete old files that were left by a kill or replaced; return their number."""
        with self._tick_lock, self._database.cursor() as cursor:
            return remove_orphans(cursor, self._parquet_dir, self._closing.is_set)


def _due_sql(table: str, column: str) -> str:
    """SQL for the due portions of a table."""
    return (Path(__file__).parent / "due_portions.sql").read_text().format(table=table, column=column)


def _due_params(now: datetime) -> dict[str, object]:
    return {"settled": now - SETTLE_TIME, "aged": now - LIVE_AGE, "live_rows": LIVE_ROWS}


def _condition(portion: Portion) -> str:
    return f"run_id IS NOT DISTINCT FROM $run_id AND {TIME_COLUMNS[portion.table]} <= $until"


def _copy(cursor: duckdb.DuckDBPyConnection, portion: Portion, path: Path) -> int:
    """Write the rows sorted by time; return their number."""
    where = _condition(portion)
    copy = f"COPY (FROM raw.{portion.table} WHERE {where} ORDER BY {TIME_COLUMNS[portion.table]})"
    params = {"run_id": portion.run_id, "until": portion.until}
    result = cursor.execute(f"{copy} TO {quoted(str(path))} (FORMAT parquet, COMPRESSION zstd)", params).fetchone()
    assert result is not None
    return int(result[0])


def _delete(cursor: duckdb.DuckDBPyConnection, portion: Portion) -> None:
    params = {"run_id": portion.run_id, "until": portion.until}
    cursor.execute(f"DELETE FROM raw.{portion.table} WHERE {_condition(portion)}", params)
