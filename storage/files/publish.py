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

PUBLISH_INTERVAL_S = 2.0
LOG_SUFFIXES = (".wal", ".wal.checkpoint", ".wal.recovery")  # of the files that DuckDB puts beside a database
CHECKPOINT_WAIT_S = 10.0
MAX_CPU_SHARE = 0.05  # publishing never takes more than this share of a core
KEPT_TABLES = (
    *("runs", "run_reports", "run_notes", "gotchas", "saved_views", "deleted_runs", "retention", "studies", "adopted"),
    *("metric_definitions", "audit", "tail_positions", "agents", "commits"),
    *("machines", "machine_labels", "foreign_runs"),
)
SealedState = tuple[int, int | None]  # number of parts and a checksum
PUBLISHED_TABLES = (*KEPT_TABLES, *SAMPLE_TABLES.values())


class Publisher:
    """A thread that publishes after changes; `publish` may also be called directly."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self.failure: str | None = None
        self.last_ms: float | None = None
        self._changed_s: float | None = None  # time of the first unpublished change
        self._published_s: float | None = None
        self._settings = settings
        self._database = database
        self._template = settings.data_dir / ".monitor.template"
        self._draft = settings.data_dir / ".monitor.draft"
        self._template_state: SealedState | None = None  # the sealed files in its views
        self._tick_lock = threading.Lock()
        self._dirty = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="store-publisher", daemon=True)

    def start(self) -> None:
        """Start publishing in the background: at most every 2 s, and only after changes."""
        self._thread.start()

    def changed(self, _run_ids: frozenset[str] = frozenset()) -> None:
        """Note a commit."""
        self._changed_s = self._changed_s or time.monotonic()
        self._dirty.set()

    @property
    def behind_s(self) -> float:
        """Age in seconds of the oldest commit missing from the published file."""
        changed_s = self._changed_s
        return 0.0 if changed_s is None else time.monotonic() - changed_s

    @property
    def age_s(self) -> float | None:
        """Seconds since the last publish; None before the first."""
        published_s = self._published_s
        return None if published_s is None else time.monotonic() - published_s

    def close(self) -> None:
        """Stop, and publish remaining changes."""
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
            cpu_start_s = time.thread_time()  # not wall time, which means little on a busy machine
            self.try_publish()
            self._closing.wait(max(PUBLISH_INTERVAL_S, (time.thread_time() - cpu_start_s) / MAX_CPU_SHARE))

    def try_publish(self) -> None:
        """Publish; on an error such as a full disk keep the last published file, and the reason in `failure`."""
        try:
            self.publish()
            self.failure = None
        except (OSError, duckdb.Error, StoreError) as error:
            self.failure = f"The published file is not up to date: {str(error).splitlines()[0]}"
            self._dirty.set()

    def publish(self) -> None:
        """Rewrite the published file; readers see the old or the new one, never a partial one."""
        with self._tick_lock:
            started_s, changed_s = time.monotonic(), self._changed_s
            self._changed_s = None
            try:
                self._write_draft()
                self._draft.chmod(0o400)  # other processes of the same user read it
                self._draft.replace(self._settings.published_path)
                for suffix in (
                    "",
                    ".wal",
                ):  # created with the user's umask, the log again at each checkpoint
                    make_private(Path(f"{self._settings.store_path}{suffix}"))
                self._published_s = time.monotonic()
            except BaseException:
                self._changed_s = changed_s
                raise
            finally:
                _remove(self._draft)
            self.last_ms = (time.monotonic() - started_s) * 1e3

    def _write_draft(self) -> None:
        """Copy the rows and the records of sealed files as of one transaction."""
        with self._database.cursor() as cursor:
            while True:
                state = _sealed_state(cursor)
                if state != self._template_state or not self._template.exists():
                    self._write_template(cursor)
                _remove(self._draft)
                shutil.copyfile(self._template, self._draft)
                make_private(self._draft)
                rows = _hot_rows(cursor, state)
                if rows is not None:
                    return _fill(self._draft, rows)

    def _write_template(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Write an empty store with all views to copy from, because defining views takes longer than copying the rows.

        One transaction, so that the recorded files match the views even while the sealer works.
        """
        self._template_state = None  # until it is complete: a full disk may leave a partial file
        _remove(self._template)
        with attached(cursor, self._template, "template", "STORAGE_VERSION 'v1.0.0'"):
            make_private(self._template)
            cursor.begin()
            try:
                cursor.execute(f"COPY FROM DATABASE {self._settings.store_path.stem} TO template (SCHEMA)")
                cursor.execute("INSERT INTO template.raw.migrations FROM raw.migrations")
                cursor.execute("INSERT INTO template.raw.sealed_files FROM raw.sealed_files")
                state = _sealed_state(cursor, "template.raw")
                cursor.commit()
            finally:
                roll_back(cursor)
        _await_checkpoint(self._template)
        self._template_state = state


def _remove(path: Path) -> None:
    """Remove a database and its logs: a log left by a kill would be replayed into the next file of that name."""
    for file in (path, *_logs(path)):
        file.unlink(missing_ok=True)


def _logs(path: Path) -> list[Path]:
    return [path.with_name(f"{path.name}{suffix}") for suffix in LOG_SUFFIXES]


def _await_checkpoint(path: Path) -> None:
    """Wait until the file is checkpointed, which happens after all transactions that saw it attached have ended.

    Listing the tables of the store, as the lake's shipper does, includes all attached databases.
    """
    deadline_s = time.monotonic() + CHECKPOINT_WAIT_S
    while any(log.exists() for log in _logs(path)):
        if time.monotonic() > deadline_s:
            raise StoreError(f"{path.name} is not complete after {CHECKPOINT_WAIT_S:g} s.")
        time.sleep(0.005)


def _sealed_state(cursor: duckdb.DuckDBPyConnection, schema: str = "raw") -> SealedState:
    """A checksum of the records of sealed files; with 10,000 runs a tenth of the time of reading them."""
    row = cursor.execute(f"SELECT count(*), bit_xor(hash(sealed)) FROM {schema}.sealed_files AS sealed").fetchone()
    assert row is not None
    return row[0], row[1]


def _hot_rows(cursor: duckdb.DuckDBPyConnection, state: SealedState) -> dict[str, pa.Table] | None:
    """The hot rows by table; None if rows were sealed meanwhile, because the draft's views then lack a file."""
    cursor.begin()
    try:
        if _sealed_state(cursor) != state:
            return None
        tables = sorted(filled_tables(cursor) & set(PUBLISHED_TABLES))
        return {table: cursor.execute(f"FROM raw.{table}").to_arrow_table() for table in tables}
    finally:
        roll_back(cursor)


def filled_tables(cursor: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the tables that may have rows, by DuckDB's estimate, which includes deleted rows and misses none.

    Most of about forty tables are empty, and querying each takes half of the time of a small store.
    """
    sizes = "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'raw' AND estimated_size > 0"
    return {name for (name,) in cursor.execute(sizes).fetchall()}


def _fill(path: Path, rows: Mapping[str, pa.Table]) -> None:
    """Insert the rows in a separate DuckDB, because each file attached to the owner's would leak 8 KB."""
    with duckdb.connect(str(path), config={"threads": 1}) as copy:
        copy.begin()
        for table, content in rows.items():
            if not content.num_rows:  # only deleted rows
                continue
            copy.register("incoming", content)
            copy.execute(f"INSERT INTO raw.{table} FROM incoming")
            copy.unregister("incoming")
        copy.commit()
        copy.execute("CHECKPOINT")  # closing would ignore a full disk and leave an empty file
