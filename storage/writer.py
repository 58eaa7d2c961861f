"""The writer thread: commits all waiting rows together, in order and exactly once."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from storage.database import Database, StoreError

MAX_ROWS_PER_COMMIT = 20_000
MAX_PENDING_ROWS = 200_000
COALESCE_S = 0.05  # samples wait this long for more rows; a saved run does not
RETRY_S = 1.0
CLOSE_TIMEOUT_S = 3.0
KEYS: Mapping[str, str] = {
    "runs": "id",
    "run_notes": "run_id, version",
    "gotchas": "id, version",
    "saved_views": "page, name, version",
    "tail_positions": "run_id, path",
    "agents": "run_id, agent_id",
    "metric_definitions": "definition",
    "shares": "id",
    "studies": "id",
    "run_reports": "run_id",
    "machines": "id",
    "machine_labels": "machine_id",
}  # rows that replace the ones with the same key
WRITE_FAILURES = (
    duckdb.OperationalError,
    duckdb.InternalError,
    duckdb.FatalException,
)  # failures of the database, not of the rows
STORE_FAILURES = (*WRITE_FAILURES, StoreError)

CommitCallback = Callable[[frozenset[str]], None]


@dataclass(frozen=True)
class PendingWrite:
    """Rows for one transaction, and the future of the caller that submitted them."""

    tables: Mapping[str, pa.Table]
    run_ids: frozenset[str]
    is_urgent: bool = False
    is_bulk: bool = False  # waits while too many rows are queued; actions of people and runs do not
    is_sampling: bool = False  # only samples of live runs
    future: Future[None] = field(default_factory=Future)
    submitted_s: float = field(default_factory=time.monotonic)

    @property
    def rows(self) -> int:
        return sum(table.num_rows for table in self.tables.values())


class Writer:
    """A thread that commits submitted rows; while the store fails it keeps them and retries."""

    def __init__(self, database: Database) -> None:
        self.failure: str | None = None  # of the last try; None after a success
        self._database = database
        self._callbacks: list[CommitCallback] = []
        self._pending: deque[PendingWrite] = deque()
        self._changed = threading.Condition()
        self._pending_rows = 0
        self._oldest_submitted_s: float | None = None  # when the oldest uncommitted rows were submitted
        self._committed_s: float | None = None
        self._closing = False
        with database.cursor() as cursor:
            self._number = _last_commit(cursor)
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)

    def start(self) -> None:
        """Start committing, including rows submitted earlier."""
        self._thread.start()

    @property
    def pending_rows(self) -> int:
        return self._pending_rows

    @property
    def waiting_s(self) -> float:
        """Age of the oldest uncommitted rows; 0 when none wait."""
        submitted_s = self._oldest_submitted_s
        return 0.0 if submitted_s is None else time.monotonic() - submitted_s

    @property
    def last_commit_age_s(self) -> float | None:
        """Seconds since the last commit; None before the first."""
        committed_s = self._committed_s
        return None if committed_s is None else time.monotonic() - committed_s

    def on_commit(self, callback: CommitCallback) -> None:
        """Register a callback for each commit, with the ids of its runs; runs on the writer's thread, so be quick."""
        self._callbacks.append(callback)

    def submit(self, item: PendingWrite) -> Future[None]:
        """Queue rows; bulk rows block while too many are queued. Raises StoreError once closed."""
        with self._changed:
            if item.is_bulk:
                self._changed.wait_for(lambda: self._closing or self._pending_rows < MAX_PENDING_ROWS)
            if self._closing:
                raise StoreError("The store is closed.")
            self._pending.append(item)
            self._oldest_submitted_s = self._oldest_submitted_s or item.submitted_s
            self._pending_rows += item.rows
            self._changed.notify_all()
        return item.future

    def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """Commit queued rows; rows that cannot be committed in time fail with an error for their caller."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            while batch := self._next():
                self._commit_until_done(batch)
        finally:
            self._refuse_queued()

    def _next(self) -> list[PendingWrite]:
        """Return the next rows to commit, in order; empty when closing with an empty queue."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing or self._pending)
            self._changed.wait_for(self._in_a_hurry, COALESCE_S)
            return list(self._take())

    def _in_a_hurry(self) -> bool:
        full = self._pending_rows >= MAX_ROWS_PER_COMMIT
        return self._closing or full or any(item.is_urgent for item in self._pending)

    def _take(self) -> Iterator[PendingWrite]:
        rows = 0
        while self._pending and (rows == 0 or rows + self._pending[0].rows <= MAX_ROWS_PER_COMMIT):
            item = self._pending.popleft()
            rows += item.rows
            yield item

    def _commit_until_done(self, batch: Sequence[PendingWrite]) -> None:
        """Try until the store accepts the batch; a bad item fails alone, not the others of its batch."""
        try:
            while not self._try_commit(batch):
                if self._pause():
                    return self._refuse(batch)
        except (duckdb.Error, pa.ArrowException) as error:
            if len(batch) == 1:
                return self._settle(batch, error)
            for item in batch:
                self._commit_until_done([item])
            return None
        return self._settle(batch, None)

    def _pause(self) -> bool:
        """Wait before the next try; return True if there will be none."""
        with self._changed:
            return self._changed.wait_for(lambda: self._closing, RETRY_S)

    def _try_commit(self, batch: Sequence[PendingWrite]) -> bool:
        """Try once; a commit with an unclear outcome is looked up by its number, so nothing is stored twice."""
        number = self._number + 1
        try:
            with self._database.transaction(is_sampling=all(item.is_sampling for item in batch)) as cursor:
                _insert(cursor, batch)
                cursor.execute("UPDATE raw.commits SET number = ?", [number])
        except STORE_FAILURES as error:
            self.failure = str(error).splitlines()[0]
            if not self._recovered(number):
                return False
        self.failure, self._number = None, number
        return True

    def _recovered(self, number: int) -> bool:
        """Reopen the file and return whether the commit reached the disk."""
        try:
            self._database.reopen()
            with self._database.cursor() as cursor:
                return _last_commit(cursor) == number
        except STORE_FAILURES as error:
            self.failure = str(error).splitlines()[0]
            return False

    def _settle(self, batch: Sequence[PendingWrite], error: Exception | None) -> None:
        with self._changed:
            self._pending_rows -= sum(item.rows for item in batch)
            self._oldest_submitted_s = self._pending[0].submitted_s if self._pending else None
            if error is None:
                self._committed_s = time.monotonic()
            self._changed.notify_all()
        for item in batch:
            if error is None:
                item.future.set_result(None)
            else:
                item.future.set_exception(error)
        if error is None:
            run_ids = frozenset[str]().union(*(item.run_ids for item in batch))
            for callback in self._callbacks:
                callback(run_ids)

    def _refuse(self, batch: Sequence[PendingWrite]) -> None:
        self._settle(batch, StoreError(f"Not stored before the store was closed: {self.failure}"))

    def _refuse_queued(self) -> None:
        """Fail all queued rows when the thread ends, so that nobody waits for them."""
        with self._changed:
            if not self._closing:
                self.failure = "The writer has ended by an internal error; see the server's output."
            self._closing = True
            queued, self._pending = list(self._pending), deque()
        self._refuse(queued)


def _last_commit(cursor: duckdb.DuckDBPyConnection) -> int:
    row = cursor.execute("SELECT number FROM raw.commits").fetchone()
    assert row is not None
    return int(row[0])


def _insert(cursor: duckdb.DuckDBPyConnection, batch: Sequence[PendingWrite]) -> None:
    """Insert the batch table by table; of rows with the same key, the last one remains."""
    for name in sorted({name for item in batch for name in item.tables}):
        tables = [item.tables[name] for item in batch if name in item.tables]
        if name in KEYS:
            replace_rows(cursor, name, _latest(tables, KEYS[name].split(", ")))
        else:
            append_rows(cursor, name, pa.concat_tables(tables))


def _latest(tables: Sequence[pa.Table], key: Sequence[str]) -> pa.Table:
    """The rows of each key from the last table that has it, so that each key is written once."""
    if len(tables) == 1:
        return tables[0]
    rows = pa.concat_tables(tables).combine_chunks()
    table_numbers = [number for number, table in enumerate(tables) for _ in range(table.num_rows)]
    keys = list(zip(*(rows[column].to_pylist() for column in key), strict=True))
    last = dict(zip(keys, table_numbers, strict=True))
    return rows.take([row for row, table_number in enumerate(table_numbers) if last[keys[row]] == table_number])


def replace_rows(cursor: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> None:
    """Replace rows with the same key, in the caller's transaction."""
    with _registered(cursor, table):
        cursor.execute(f"DELETE FROM raw.{name} WHERE ({KEYS[name]}) IN (SELECT ({KEYS[name]}) FROM incoming)")
    append_rows(cursor, name, table)


def append_rows(cursor: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> None:
    """Add rows to a raw table, in the caller's transaction."""
    with _registered(cursor, table):
        cursor.execute(f"INSERT INTO raw.{name} BY NAME SELECT * FROM incoming")


@contextmanager
def _registered(cursor: duckdb.DuckDBPyConnection, table: pa.Table) -> Iterator[None]:
    cursor.register("incoming", table)
    try:
        yield
    finally:
        cursor.unregister("incoming")
