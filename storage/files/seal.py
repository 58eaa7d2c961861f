"""Rows that will hardly change any more move to sorted Parquet files, so that what is copied every 2 s stays small.

The file is complete on the disk before one transaction deletes the rows and records the file: whatever is
killed in between leaves either the rows or the file in force, and at worst a file that nobody names.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import duckdb

from machine.private_files import make_private, private_folder
from settings import Settings
from storage.ask.literals import quoted
from storage.catalog import define_views
from storage.database import Database, StoreError
from storage.files.lost import Look, LostFile, look_quickly, note_lost_files, read_lost_files
from storage.rows import TIME_COLUMNS

EVERY_S = 30.0
# DuckDB 1.5.5 keeps some 0.7 KB of each query that sorts, groups or has a window until its file is closed: tens of MiB
# an hour.
RENEWED_AFTER = 60  # ticks
SETTLE = timedelta(seconds=60)  # after its end a run's last lines may still come in
LIVE_AGE = timedelta(minutes=10)  # rows of live runs, and of no run, are sealed when they are older
LIVE_ROWS = 2_000  # and this many, so that a long run makes few files
PORTIONS_PER_TICK = 64  # the rest comes with the next tick
ORPHAN_AGE_S = 3600.0
NO_RUN = "__HIVE_DEFAULT_PARTITION__"  # what Parquet readers take for a null run_id


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
        self, settings: Settings, database: Database, clock: Callable[[], datetime], sealed: Callable[[], None]
    ) -> None:
        self.failure: str | None = None
        self.lost: list[LostFile] = []  # the sealed files that are left out now, by run
        self._parquet_dir = settings.parquet_dir.absolute()
        self._database = database
        self._clock = clock
        self._sealed = sealed
        self._tick_lock = threading.Lock()  # two at once would take the same rows, and the same name for their file
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="store-sealer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        ticks = 0
        while not self._closing.wait(EVERY_S):
            ticks += 1
            try:
                self.seal_due()
                if ticks % RENEWED_AFTER == 0:
                    self._database.reopen()
                self.failure = None
            except (OSError, duckdb.Error, StoreError) as error:
                self.failure = f"Rows could not be sealed: {str(error).splitlines()[0]}"

    def seal_due(self) -> int:
        """Seal what is due, a bounded number of portions in one transaction; the number of files made."""
        with self._tick_lock:
            portions = self._due(self._clock())[:PORTIONS_PER_TICK]
            if portions:
                with self._database.transaction() as cursor:
                    for portion in portions:
                        self._seal(cursor, portion)
                    define_views(cursor, self._parquet_dir)
                self._sealed()
            return len(portions)

    def note_lost(self, look: Look = look_quickly) -> bool:
        """Leave out the sealed files that are missing or broken, and take back those that are whole again.

        Whether anything has changed; where nothing can be written, nothing does.
        """
        with self._tick_lock:
            try:
                with self._database.transaction() as cursor:
                    has_changed = note_lost_files(cursor, self._parquet_dir, look)
                    if has_changed:
                        define_views(cursor, self._parquet_dir)
                        self.lost = read_lost_files(lambda sql, params=None: cursor.execute(sql).to_arrow_table())
            except (duckdb.Error, StoreError):
                return False
        if has_changed:
            self._sealed()
        return has_changed

    def _due(self, now: datetime) -> list[Portion]:
        with self._database.cursor() as cursor:
            return [
                Portion(table, **due)
                for table, column in TIME_COLUMNS.items()
                for due in cursor.execute(_due_sql(table, column), _due_params(now)).to_arrow_table().to_pylist()
            ]

    def _seal(self, cursor: duckdb.DuckDBPyConnection, portion: Portion) -> None:
        path = _new_path(cursor, self._parquet_dir, portion.table, portion.run_id)
        draft = path.with_suffix(".draft")
        try:
            rows = _copy(cursor, portion, draft)
            _settle_on_disk(draft, path)
        finally:
            draft.unlink(missing_ok=True)
        _delete(cursor, portion)
        self._record(cursor, path, portion.table, portion.run_id, rows)

    def take(self, cursor: duckdb.DuckDBPyConnection, drafts: Iterable[SealedDraft]) -> None:
        """Record files made elsewhere, in the caller's transaction."""
        for draft in drafts:
            path = _new_path(cursor, self._parquet_dir, draft.table, draft.run_id)
            _settle_on_disk(draft.path, path)
            self._record(cursor, path, draft.table, draft.run_id, draft.rows)
        define_views(cursor, self._parquet_dir)

    def _record(self, cursor: duckdb.DuckDBPyConnection, path: Path, table: str, run_id: str | None, rows: int) -> None:
        record = [str(path.relative_to(self._parquet_dir)), table, run_id, rows, self._clock()]
        schema = "(SELECT max(number) FROM raw.migrations)"
        cursor.execute(f"INSERT INTO raw.sealed_files SELECT ?, ?, ?, ?, ?, {schema}, NULL", record)

    def remove_orphans(self) -> int:
        """Delete files that a kill left unrecorded; younger ones may be read by somebody right now."""
        with self._database.cursor() as cursor:
            recorded = {row[0] for row in cursor.execute("SELECT path FROM raw.sealed_files").fetchall()}
        files = [p for p in self._parquet_dir.rglob("*") if p.is_file()]
        orphans = [p for p in files if str(p.relative_to(self._parquet_dir)) not in recorded and _is_old(p)]
        for path in orphans:
            path.unlink()
        return len(orphans)


def _new_path(cursor: duckdb.DuckDBPyConnection, parquet_dir: Path, table: str, run_id: str | None) -> Path:
    """The next free number; a file of that name was never recorded, so it may be overwritten."""
    folder = parquet_dir / table / f"run_id={run_id or NO_RUN}"
    private_folder(folder)
    sql = "SELECT count(*) FROM raw.sealed_files WHERE table_name = ? AND run_id IS NOT DISTINCT FROM ?"
    found = cursor.execute(sql, [table, run_id]).fetchone()
    assert found is not None
    return folder / f"{found[0] + 1}.parquet"


def _due_sql(table: str, column: str) -> str:
    """Portions whose run has ended, and large enough old ones of whatever still goes on."""
    return f"""
        SELECT t.run_id, max(t.{column}) AS until FROM raw.{table} t
        JOIN raw.runs r ON r.id = t.run_id AND r.ended_at < $settled GROUP BY t.run_id
        UNION ALL
        SELECT t.run_id, max(t.{column}) AS until FROM raw.{table} t
        LEFT JOIN raw.runs r ON r.id = t.run_id
        WHERE t.{column} < $aged AND (r.ended_at IS NULL OR r.ended_at >= $settled)
        GROUP BY t.run_id HAVING count(*) >= $live_rows"""


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


def _settle_on_disk(draft: Path, path: Path) -> None:
    """The bytes first, then the name, then the folder that holds the name."""
    make_private(draft)
    _fsync(draft)
    draft.replace(path)
    _fsync(path.parent)


def _fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_old(path: Path) -> bool:
    return time.time() - path.stat().st_mtime > ORPHAN_AGE_S
