"""Publishes the store for other processes: a read-only copy of the hot rows, and views of the sealed files."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pyarrow as pa

from machine.private_files import make_private
from settings import Settings
from storage.catalog import attached
from storage.database import Database, StoreError, roll_back
from storage.rows import SAMPLE_TABLES

EVERY_S = 2.0
LOGS = (".wal", ".wal.checkpoint", ".wal.recovery")  # how DuckDB ends the names of what lies beside a file
WHOLE_S = 10.0
DUTY = 0.05  # publishing never takes more than this share of a core
KEPT_TABLES = (
    *("runs", "run_reports", "run_notes", "gotchas", "saved_views", "deleted_runs", "retention", "studies", "adopted"),
    *("metric_definitions", "audit", "tail_positions", "agents", "commits"),
    *("machines", "machine_labels", "foreign_runs"),
)
SealedFiles = tuple[int, int | None]  # their parts and a checksum
PUBLISHED_TABLES = (*KEPT_TABLES, *SAMPLE_TABLES.values())


class Publisher:
    """A thread that publishes when something changed; `publish` may also be called directly."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self.failure: str | None = None
        self.last_ms: float | None = None
        self._changed_s: float | None = None  # since when the published file lacks something
        self._published_s: float | None = None
        self._settings = settings
        self._database = database
        self._template = settings.data_dir / ".monitor.template"
        self._draft = settings.data_dir / ".monitor.draft"
        self._template_files: SealedFiles | None = None  # those that its views name
        self._tick_lock = threading.Lock()
        self._dirty = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="store-publisher", daemon=True)

    def start(self) -> None:
        """Begin to publish in the background: every 2 s at most, and only when something has changed."""
        self._thread.start()

    def changed(self, _run_ids: frozenset[str] = frozenset()) -> None:
        """Something was committed."""
        self._changed_s = self._changed_s or time.monotonic()
        self._dirty.set()

    @property
    def behind_s(self) -> float:
        """Since how many seconds the published file lacks something that was committed."""
        changed_s = self._changed_s
        return 0.0 if changed_s is None else time.monotonic() - changed_s

    @property
    def age_s(self) -> float | None:
        """Seconds since the published file was written; None when this Pitwall has not written one."""
        published_s = self._published_s
        return None if published_s is None else time.monotonic() - published_s

    def close(self) -> None:
        """Stop, and publish what the published file lacks a last time."""
        self._closing.set()
        self._dirty.set()
        self._thread.join()
        if self._changed_s is not None or self.failure:
            self.try_publish()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._dirty.wait()
            if self._closing.is_set():
                return
            self._dirty.clear()
            used = time.thread_time()  # not wall time: on a machine whose cores are busy serving, that says little
            self.try_publish()
            self._closing.wait(max(EVERY_S, (time.thread_time() - used) / DUTY))

    def try_publish(self) -> None:
        """A full disk leaves the last published file where it is, and the reason in `failure`."""
        try:
            self.publish()
            self.failure = None
        except (OSError, duckdb.Error, StoreError) as error:
            self.failure = f"The published file is not up to date: {str(error).splitlines()[0]}"
            self._dirty.set()

    def publish(self) -> None:
        """Write the published file anew; readers have the old or the new one, never anything between."""
        with self._tick_lock:
            begun, changed_s = time.monotonic(), self._changed_s
            self._changed_s = None
            try:
                self._write_draft()
                self._draft.chmod(0o400)  # other processes of the same user read it
                self._draft.replace(self._settings.published_path)
                for end in ("", ".wal"):  # DuckDB makes them with the user's own umask, the log anew at each checkpoint
                    make_private(Path(f"{self._settings.store_path}{end}"))
                self._published_s = time.monotonic()
            except BaseException:
                self._changed_s = changed_s
                raise
            finally:
                _remove(self._draft)
            self.last_ms = (time.monotonic() - begun) * 1e3

    def _write_draft(self) -> None:
        """Copy the rows and the names of the sealed files as one transaction sees them."""
        with self._database.cursor() as cursor:
            while True:
                files = _sealed_files(cursor)
                if files != self._template_files or not self._template.exists():
                    self._write_template(cursor)
                _remove(self._draft)
                shutil.copyfile(self._template, self._draft)
                make_private(self._draft)
                rows = _hot_rows(cursor, files)
                if rows is not None:
                    return _fill(self._draft, rows)

    def _write_template(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """An empty store with all views, copied: making them takes longer than copying the rows.

        In one transaction: the files that are written down are those that the views name, also beside the sealer.
        """
        self._template_files = None  # until it is whole: a full disk may leave a part of it
        _remove(self._template)
        with attached(cursor, self._template, "made", "STORAGE_VERSION 'v1.0.0'"):
            make_private(self._template)
            cursor.begin()
            try:
                cursor.execute(f"COPY FROM DATABASE {self._settings.store_path.stem} TO made (SCHEMA)")
                cursor.execute("INSERT INTO made.raw.migrations FROM raw.migrations")
                cursor.execute("INSERT INTO made.raw.sealed_files FROM raw.sealed_files")
                files = _sealed_files(cursor, "made.raw")
                cursor.commit()
            finally:
                roll_back(cursor)
        _await_whole(self._template)
        self._template_files = files


def _remove(path: Path) -> None:
    """A kill may have left the file's log beside it, which would be replayed into the next file of that name."""
    for one in (path, *_logs(path)):
        one.unlink(missing_ok=True)


def _logs(path: Path) -> list[Path]:
    return [path.with_name(f"{path.name}{end}") for end in LOGS]


def _await_whole(path: Path) -> None:
    """Until what was committed is in the file itself: not before all who saw it attached are through.

    Whoever lists the tables of the store, as the lake's shipper does, sees those of all that is attached.
    """
    end = time.monotonic() + WHOLE_S
    while any(log.exists() for log in _logs(path)):
        if time.monotonic() > end:
            raise StoreError(f"{path.name} is not whole after {WHOLE_S:g} s.")
        time.sleep(0.005)


def _sealed_files(cursor: duckdb.DuckDBPyConnection, schema: str = "raw") -> SealedFiles:
    """A checksum of all that is written down of them: with 10,000 runs it takes a tenth of the time of the rows."""
    found = cursor.execute(f"SELECT count(*), bit_xor(hash(sealed)) FROM {schema}.sealed_files AS sealed").fetchone()
    assert found is not None
    return found[0], found[1]


def _hot_rows(cursor: duckdb.DuckDBPyConnection, files: SealedFiles) -> dict[str, pa.Table] | None:
    """The hot rows by table; None when rows were sealed meanwhile, for then the draft's views miss a file."""
    cursor.begin()
    try:
        if _sealed_files(cursor) != files:
            return None
        tables = sorted(filled_tables(cursor) & set(PUBLISHED_TABLES))
        return {table: cursor.execute(f"FROM raw.{table}").to_arrow_table() for table in tables}
    finally:
        roll_back(cursor)


def filled_tables(cursor: duckdb.DuckDBPyConnection) -> set[str]:
    """The tables that may have rows: DuckDB's size counts those that are deleted too, and misses none.

    Of some forty tables most have none, and a question to each takes half of the time of a small store.
    """
    sizes = "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'raw' AND estimated_size > 0"
    return {name for (name,) in cursor.execute(sizes).fetchall()}


def _fill(path: Path, rows: Mapping[str, pa.Table]) -> None:
    """Put the rows into a file, in a DuckDB of its own: attached to the owner's, each file would leave 8 KB behind."""
    with duckdb.connect(str(path), config={"threads": 1}) as made:
        made.begin()
        for table, content in rows.items():
            if not content.num_rows:  # all that it had are deleted
                continue
            made.register("incoming", content)
            made.execute(f"INSERT INTO raw.{table} FROM incoming")
            made.unregister("incoming")
        made.commit()
        made.execute("CHECKPOINT")  # as closing does, which says nothing of a full disk and leaves an empty file
