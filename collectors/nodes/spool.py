"""The samples that Pitwall has not acknowledged yet: on disk, in order, up to a limit of bytes."""

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

MOST_BYTES = 64 << 20
_LAYOUT = """
    CREATE TABLE IF NOT EXISTS batches (number INTEGER PRIMARY KEY AUTOINCREMENT, body BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value NOT NULL);
"""  # AUTOINCREMENT: a number is given once, also when its batch is long gone
_OLDER_HALF = "SELECT number FROM batches ORDER BY number LIMIT (SELECT (count(*) + 1) / 2 FROM batches)"
_THIN = f"""
    DELETE FROM batches WHERE number IN (
        SELECT number FROM (SELECT number, row_number() OVER (ORDER BY number) AS place FROM ({_OLDER_HALF}))
        WHERE place % 2 = 1
    )
"""


class SpoolError(PitwallError):
    """The buffer cannot be used, in one sentence."""


class Kept(NamedTuple):
    """One batch as it was measured."""

    number: int
    body: bytes


class Spool:
    """A SQLite file: a batch is in it whole or not at all, whenever the process is killed. Safe from any thread."""

    def __init__(self, path: Path, most_bytes: int = MOST_BYTES) -> None:
        """Raises SpoolError where another agent has it, or it cannot be used; OSError."""
        private_folder(path.parent)
        self._path = path
        self._held = _held(path)
        self._lock = threading.Lock()
        self._most_bytes = most_bytes
        try:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, FILE_MODE))
            self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._file.executescript(_LAYOUT)
            self._file.execute("INSERT OR IGNORE INTO facts VALUES ('agent', ?), ('thinned', 0)", [uuid.uuid4().hex])
            self._bytes = int(self._one("SELECT coalesce(sum(length(body)), 0) FROM batches"))
        except sqlite3.Error as error:
            raise SpoolError(f"The buffer {path} cannot be used: {error}.") from None

    @property
    def agent_id(self) -> str:
        """Whose numbers these are."""
        return str(self._one("SELECT value FROM facts WHERE name = 'agent'"))

    @property
    def thinned(self) -> int:
        """How many batches were left out, for there was no room, since the buffer was made."""
        return int(self._one("SELECT value FROM facts WHERE name = 'thinned'"))

    def is_empty(self) -> bool:
        """Whether nothing waits to be acknowledged any more. Raises SpoolError."""
        return not self._one("SELECT count(*) FROM batches")

    def add(self, body: bytes) -> None:
        """Keep a batch; where there is no room for it, every second of the older half goes. Raises SpoolError."""
        with self._using(), self._file:
            self._file.execute("BEGIN IMMEDIATE")
            self._file.execute("INSERT INTO batches (body) VALUES (?)", [body])
            self._bytes += len(body)
            while self._bytes > self._most_bytes and self._thin():
                pass

    def first(self, most_batches: int, most_bytes: int) -> Sequence[Kept]:
        """The oldest batches, as many as fit; one at least where there is any. Raises SpoolError."""
        with self._using():
            sql = "SELECT number, body FROM batches ORDER BY number LIMIT ?"
            rows = [Kept(*row) for row in self._file.execute(sql, [most_batches])]
        size, fitting = 0, 0
        for row in rows:
            size += len(row.body)
            if size > most_bytes and fitting:
                break
            fitting += 1
        return rows[:fitting]

    def forget(self, number: int) -> None:
        """Let go of what has been acknowledged: this batch and those before it. Raises SpoolError."""
        with self._using(), self._file:
            self._file.execute("DELETE FROM batches WHERE number <= ?", [number])
            self._bytes = int(self._file.execute("SELECT coalesce(sum(length(body)), 0) FROM batches").fetchone()[0])

    def close(self) -> None:
        """Close the file and let another agent have it; what was not acknowledged stays in it."""
        self._file.close()
        os.close(self._held)

    def _thin(self) -> int:
        """Every second batch of the older half; how many went."""
        gone = self._file.execute(_THIN).rowcount
        self._file.execute("UPDATE facts SET value = value + ? WHERE name = 'thinned'", [gone])
        self._bytes = int(self._file.execute("SELECT coalesce(sum(length(body)), 0) FROM batches").fetchone()[0])
        return gone

    @contextmanager
    def _using(self) -> Iterator[None]:
        """Alone among threads, on a disk that may be full or gone."""
        try:
            with self._lock:
                yield
        except sqlite3.Error as error:
            raise SpoolError(f"The buffer {self._path} cannot be used: {error}.") from None

    def _one(self, sql: str) -> int | str:
        with self._using():
            value: int | str = self._file.execute(sql).fetchone()[0]
            return value


def _held(path: Path) -> int:
    """A lock that ends with the process."""
    handle = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, FILE_MODE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise SpoolError(f"Another agent sends from {path}.") from None
    return handle
