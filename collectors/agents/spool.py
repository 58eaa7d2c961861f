"""Buffer of the samples that Pitwall has not acknowledged yet: on disk, in order, of limited size."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from errors import PitwallError
from machine.private_files import FILE_MODE, private_folder

MAX_BYTES = 64 << 20
_LAYOUT = """
    CREATE TABLE IF NOT EXISTS batches (number INTEGER PRIMARY KEY AUTOINCREMENT, body BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value NOT NULL);
"""  # AUTOINCREMENT: a number is never reused, even after its batch was deleted
_OLDER_HALF = "SELECT number FROM batches ORDER BY number LIMIT (SELECT (count(*) + 1) / 2 FROM batches)"
_THIN = f"""
    DELETE FROM batches WHERE number IN (
        SELECT number FROM (SELECT number, row_number() OVER (ORDER BY number) AS position FROM ({_OLDER_HALF}))
        WHERE position % 2 = 1
    )
"""


class SpoolError(PitwallError):
    """The buffer cannot be used; the message is one sentence."""


class SpooledBatch(NamedTuple):
    """A buffered batch."""

    number: int
    body: bytes


class Spool:
    """Buffer in a SQLite file, in which a killed process leaves only whole batches. Safe from any thread."""

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        """Raises SpoolError if another agent uses the file or it cannot be opened; OSError."""
        private_folder(path.parent)
        self._path = path
        self._lock_handle = _lock_handle(path)
        self._lock = threading.Lock()
        self._max_bytes = max_bytes
        try:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, FILE_MODE))
            self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._file.executescript(_LAYOUT)
            self._file.execute("INSERT OR IGNORE INTO facts VALUES ('agent', ?), ('thinned', 0)", [uuid.uuid4().hex])
            self._bytes = int(self._scalar("SELECT coalesce(sum(length(body)), 0) FROM batches"))
        except sqlite3.Error as error:
            raise SpoolError(f"The buffer {path} cannot be used: {error}.") from None

    @property
    def agent_id(self) -> str:
        """Id under which this buffer's batch numbers are unique."""
        return str(self._scalar("SELECT value FROM facts WHERE name = 'agent'"))

    @property
    def thinned(self) -> int:
        """Number of batches dropped for lack of space since the buffer was created."""
        return int(self._scalar("SELECT value FROM facts WHERE name = 'thinned'"))

    def is_empty(self) -> bool:
        """Return whether all batches were acknowledged. Raises SpoolError."""
        return not self._scalar("SELECT count(*) FROM batches")

    def add(self, body: bytes) -> None:
        """Append a batch; if space runs out, every second batch of the older half is dropped. Raises SpoolError."""
        with self._using(), self._file:
            self._file.execute("BEGIN IMMEDIATE")
            self._file.execute("INSERT INTO batches (body) VALUES (?)", [body])
            self._bytes += len(body)
            while self._bytes > self._max_bytes and self._drop_every_second():
                pass

    def first(self, max_batches: int, max_bytes: int) -> Sequence[SpooledBatch]:
        """Return as many of the oldest batches as fit, at least one if there is any. Raises SpoolError."""
        with self._using():
            sql = "SELECT number, body FROM batches ORDER BY number LIMIT ?"
            rows = [SpooledBatch(*row) for row in self._file.execute(sql, [max_batches])]
        size, fitting_count = 0, 0
        for row in rows:
            size += len(row.body)
            if size > max_bytes and fitting_count:
                break
            fitting_count += 1
        return rows[:fitting_count]

    def forget(self, number: int) -> None:
        """Delete acknowledged batches: this one and all before it. Raises SpoolError."""
        with self._using(), self._file:
            self._file.execute("DELETE FROM batches WHERE number <= ?", [number])
            self._bytes = int(self._file.execute("SELECT coalesce(sum(length(body)), 0) FROM batches").fetchone()[0])

    def close(self) -> None:
        """Close the file and release its lock; batches that were not acknowledged stay in it."""
        self._file.close()
        os.close(self._lock_handle)

    def _drop_every_second(self) -> int:
        """Delete every second batch of the older half; returns how many."""
        removed = self._file.execute(_THIN).rowcount
        self._file.execute("UPDATE facts SET value = value + ? WHERE name = 'thinned'", [removed])
        self._bytes = int(self._file.execute("SELECT coalesce(sum(length(body)), 0) FROM batches").fetchone()[0])
        return removed

    @contextmanager
    def _using(self) -> Iterator[None]:
        """Hold the lock; database errors, as of a full disk, become SpoolError."""
        try:
            with self._lock:
                yield
        except sqlite3.Error as error:
            raise SpoolError(f"The buffer {self._path} cannot be used: {error}.") from None

    def _scalar(self, sql: str) -> int | str:
        with self._using():
            value: int | str = self._file.execute(sql).fetchone()[0]
            return value


def _lock_handle(path: Path) -> int:
    """Take a file lock, which the system releases when the process ends."""
    handle = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, FILE_MODE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise SpoolError(f"Another agent sends from {path}.") from None
    return handle
