"""Moves rows that will hardly change any more to sorted Parquet files, to keep the copy published every 2 s small.

The file is complete on disk before one transaction deletes the rows and records the file. A kill in between leaves
either the rows or the file valid, and at worst a file that nothing refers to.
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
from storage.ask.literals import quoted
from storage.catalog import name_sealed_files
from storage.database import Database, StoreError
from storage.files.checksums import INTACT, ChecksumRound, Written
from storage.files.deleted import RunBin
from storage.files.lost import Look, LostFile, look_deeply, look_quickly, note_lost_files, read_lost_files
from storage.files.manifest import ORPHAN_AGE_S, new_path, record_part, remove_orphans, settle_on_disk
from storage.files.merge import SmallFile, keep_an_hour, small_files, take_merged, write_merged
from storage.rows import TIME_COLUMNS

EVERY_S = 30.0
# DuckDB 1.5.5 keeps some 0.7 KB of each query that sorts, groups or has a window until its file is closed: tens of MiB
# an hour.
RENEWED_AFTER = 60  # ticks
SWEPT_AFTER = int(ORPHAN_AGE_S / EVERY_S)  # ticks
SETTLE = timedelta(seconds=60)  # after its end a run's last lines may still come in
LIVE_AGE = timedelta(minutes=10)  # rows of live runs, and of no run, are sealed when they are older
LIVE_ROWS = 2_000  # and this many, so that a long run makes few files
PORTIONS_PER_TICK = 64  # the rest comes with the next tick
READ_WHOLE_EVERY_S = 600.0
# What DuckDB raises of a file that is not there, is none, or is broken inside: the last one itself, no class below it.
READ_FAILURES = (duckdb.IOException, duckdb.InvalidInputException, duckdb.Error)
MOST_WAITING = 1_024  # small files that wait for a quiet moment; beyond these they are merged beside live runs


class Portion(NamedTuple):
    """Rows of one table and one run up to a moment."""

    table: str
    run_id: str | None
    until: datetime


class SealedDraft(NamedTuple):
    """A finished Parquet file of one table and one run that waits to be taken in."""

    table: str
    run_id: str | None
    path: Path
    rows: int


class Sealer:
    """A thread that seals what is due, and now and then opens the store anew; `seal_due` may be called directly."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        clock: Callable[[], datetime],
        sealed: Callable[[], None],
        deleted: RunBin,
    ) -> None:
        self.failure: str | None = None
        self.lost: list[LostFile] = []  # the sealed files that are left out now, by run
        self._read_whole_from_s = 0.0  # monotonic
        self._parquet_dir = settings.parquet_dir.absolute()
        self._database = database
        self._clock = clock
        self._sealed = sealed
        self._deleted = deleted
        self._tick_lock = threading.Lock()  # two at once would take the same rows, and the same name for their file
        self._closing = threading.Event()
        self._checksums = ChecksumRound(self._parquet_dir, self._closing.is_set)
        self._thread = threading.Thread(target=self._run, name="store-sealer", daemon=True)

    def start(self) -> None:
        """Begin to seal in the background, every 30 s; files that a kill left behind are removed first."""
        self._thread.start()

    def close(self) -> None:
        """End the thread after the work under way; waits for that without a limit."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        """What a kill left is looked for in the background: on a slow disk that may take ten seconds."""
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
        if ticks % SWEPT_AFTER == 0:
            self._deleted.apply_rule()
            self.remove_orphans()
        if ticks % RENEWED_AFTER == 0:
            self._database.reopen()

    def seal_due(self) -> int:
        """Seal what is due, a bounded number of portions in one transaction; the number of files made."""
        with self._tick_lock:
            portions = self._due(self._clock())[:PORTIONS_PER_TICK]
            if portions:
                with self._database.transaction() as cursor:
                    for portion in portions:
                        self._seal(cursor, portion)
                    name_sealed_files(cursor, self._parquet_dir)
                self._sealed()
            return len(portions)

    def purge_due(self) -> int:
        """Let go of the runs that were deleted a day ago; how many. Raises as `merge_due`."""
        with self._tick_lock:
            return self._deleted.purge_due()

    def merge_due(self, beside_runs: bool = True) -> int:
        """Merge small files of runs that have ended; while a run is live only on demand, or where too many wait.

        The number of files made. Raises StoreError, duckdb.Error or OSError; a file that cannot be read is left out.
        """
        with self._tick_lock:
            groups = self._small_files(beside_runs)
            for files in groups:
                try:
                    self._merge(files)
                except (duckdb.Error, StoreError):
                    self._note_lost(look_deeply)
                    raise
        if groups:
            self._sealed()
        return len(groups)

    def _small_files(self, beside_runs: bool) -> list[list[SmallFile]]:
        with self._database.cursor() as cursor:
            groups = small_files(cursor, self._parquet_dir, self._clock() - SETTLE)
            live = cursor.execute("SELECT count(*) FROM raw.runs WHERE state NOT IN ('finished', 'failed')").fetchone()
        may = beside_runs or live == (0,) or sum(map(len, groups)) > MOST_WAITING
        return groups if may else []

    def _merge(self, files: list[SmallFile]) -> None:
        merged = write_merged(self._parquet_dir, files)
        with self._database.transaction() as cursor:
            take_merged(cursor, self._parquet_dir, merged)
            name_sealed_files(cursor, self._parquet_dir)
        keep_an_hour(self._parquet_dir, [one.file for one in files])

    def note_lost(self, look: Look = look_quickly) -> bool:
        """Leave out the sealed files that are missing or broken, and take back those that are whole again.

        Whether anything has changed; where nothing can be written, nothing does.
        """
        with self._tick_lock:
            has_changed = self._note_lost(look)
        if has_changed:
            self._sealed()
        return has_changed

    def look_after(self, failure: duckdb.Error) -> None:
        """Leave out the files of which a question may have failed: seen by their ends, or else read to their end.

        Reading all of them takes a while on a large store, so that is done every ten minutes at most.
        """
        if type(failure) not in READ_FAILURES:
            return
        with self._tick_lock:  # a second question that met the file waits here until the first one's look is over
            has_changed = self._note_lost(look_quickly)
            if not has_changed and time.monotonic() >= self._read_whole_from_s:
                has_changed = self._note_lost(look_deeply)
                self._read_whole_from_s = time.monotonic() + READ_WHOLE_EVERY_S
        if has_changed:
            self._sealed()

    def compare_checksums(self) -> bool:
        """Leave out those of the next sealed files that are not as they were written; whether there are any."""
        changed = self._checksums.changed(self._intact)
        return bool(changed) and self.note_lost(
            lambda file: (look_deeply if file.path in changed else look_quickly)(file)
        )

    def _intact(self) -> list[Written]:
        with self._database.cursor() as cursor:
            return [Written(*row) for row in cursor.execute(INTACT).fetchall()]

    def _note_lost(self, look: Look) -> bool:
        try:
            with self._database.transaction() as cursor:
                has_changed = note_lost_files(cursor, self._parquet_dir, look)
                if has_changed:
                    name_sealed_files(cursor, self._parquet_dir)
                    lost = read_lost_files(lambda sql, params=None: cursor.execute(sql).to_arrow_table())
        except (duckdb.Error, StoreError):
            return False
        if has_changed:  # who sees it asks with the views that were defined by then
            self.lost = lost
        return has_changed

    def _due(self, now: datetime) -> list[Portion]:
        with self._database.cursor() as cursor:
            return [
                Portion(table, **due)
                for table, column in TIME_COLUMNS.items()
                for due in cursor.execute(_due_sql(table, column), _due_params(now)).to_arrow_table().to_pylist()
            ]

    def _seal(self, cursor: duckdb.DuckDBPyConnection, portion: Portion) -> None:
        path = new_path(cursor, self._parquet_dir, portion.table, portion.run_id)
        draft = path.with_suffix(".draft")
        try:
            rows = _copy(cursor, portion, draft)
            settle_on_disk(draft, path)
        finally:
            draft.unlink(missing_ok=True)
        _delete(cursor, portion)
        record_part(cursor, self._parquet_dir, path, portion.run_id, rows, self._clock())

    @contextmanager
    def held_off(self) -> Iterator[None]:
        """While somebody else changes which files are sealed: two who define the views at once would collide."""
        with self._tick_lock:
            yield

    def take(self, cursor: duckdb.DuckDBPyConnection, drafts: Iterable[SealedDraft]) -> None:
        """Record files made elsewhere, in the caller's transaction."""
        for draft in drafts:
            path = new_path(cursor, self._parquet_dir, draft.table, draft.run_id)
            settle_on_disk(draft.path, path)
            record_part(cursor, self._parquet_dir, path, draft.run_id, draft.rows, self._clock())
        name_sealed_files(cursor, self._parquet_dir)

    def remove_orphans(self) -> int:
        """Delete old files that a kill left, and those whose rows another file has; the number of them."""
        with self._tick_lock, self._database.cursor() as cursor:
            return remove_orphans(cursor, self._parquet_dir, self._closing.is_set)


def _due_sql(table: str, column: str) -> str:
    """Portions whose run has ended, and large enough old ones of whatever still goes on."""
    return (Path(__file__).parent / "due_portions.sql").read_text().format(table=table, column=column)


def _due_params(now: datetime) -> dict[str, object]:
    return {"settled": now - SETTLE, "aged": now - LIVE_AGE, "live_rows": LIVE_ROWS}


def _condition(portion: Portion) -> str:
    return f"run_id IS NOT DISTINCT FROM $run_id AND {TIME_COLUMNS[portion.table]} <= $until"


def _copy(cursor: duckdb.DuckDBPyConnection, portion: Portion, path: Path) -> int:
    """Write the rows sorted by time; the number of rows."""
    where = _condition(portion)
    copy = f"COPY (FROM raw.{portion.table} WHERE {where} ORDER BY {TIME_COLUMNS[portion.table]})"
    params = {"run_id": portion.run_id, "until": portion.until}
    done = cursor.execute(f"{copy} TO {quoted(str(path))} (FORMAT parquet, COMPRESSION zstd)", params).fetchone()
    assert done is not None
    return int(done[0])


def _delete(cursor: duckdb.DuckDBPyConnection, portion: Portion) -> None:
    params = {"run_id": portion.run_id, "until": portion.until}
    cursor.execute(f"DELETE FROM raw.{portion.table} WHERE {_condition(portion)}", params)
