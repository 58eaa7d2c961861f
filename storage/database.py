"""The store's file: its one owner, cursors on it, and reopening it after DuckDB has invalidated the database.

While it cannot be reopened for writing (a disk that has turned read-only), it is open for reading.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from errors import PitwallError

# What is not checkpointed yet is in memory, four times as large as in the log: at DuckDB's own 16 MB some 50 MiB. And a
# monitor must not take the 80 % of the machine that DuckDB would, beside a server that wants them.
OWNERS_LIMITS = "SET GLOBAL checkpoint_threshold = '4MB'; SET GLOBAL memory_limit = '2GB'"


class StoreError(PitwallError):
    """The store cannot do what was asked; the message is one sentence for a person."""


class StoreInUseError(StoreError):
    """Another process owns the store."""


def connect(path: Path, read_only: bool = False) -> duckdb.DuckDBPyConnection:
    """A connection that speaks UTC; raises StoreError when the file cannot be opened."""
    try:
        connection = duckdb.connect(str(path), read_only=read_only)
    except duckdb.Error as error:
        raise _refusal(path, str(error)) from error
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    if not read_only:
        connection.execute(OWNERS_LIMITS)
    return connection


def _refusal(path: Path, text: str) -> StoreError:
    holder = re.search(r"PID (\d+)", text)
    if "lock" in text.lower() and holder:
        return StoreInUseError(f"Another Pitwall (pid {holder[1]}) uses this store: {path.parent}.")
    return StoreError(f"The store {path} cannot be opened: {text.splitlines()[0]}")


class Database:
    """One open file and its cursors; every cursor is left before the file is opened anew."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Of all rows but samples of runs that go on: another one after each transaction, before anybody hears of it.
        self.version = 0
        self._connection = connect(path)
        self._refusal: str | None = None  # why nothing can be written now
        self._idle = threading.Condition()
        self._cursors = 0
        self._reopening = False

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection of the caller's own, closed when left; safe from any thread. StoreError if there is none."""
        with self._idle:
            self._idle.wait_for(lambda: not self._reopening)
            try:
                cursor = self._connection.cursor()
            except duckdb.ConnectionException:
                raise StoreError(self._refusal or "The store is closed.") from None
            self._cursors += 1
        try:
            yield cursor
        finally:
            cursor.close()
            with self._idle:
                self._cursors -= 1
                self._idle.notify_all()

    @contextmanager
    def transaction(self, is_sampling: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor in a transaction: committed when left, rolled back by an exception. StoreError as `reopen`.

        is_sampling: it adds samples of runs that go on, and changes nothing else.
        """
        with self.cursor() as cursor:
            if self._refusal:
                raise StoreError(self._refusal)
            cursor.begin()
            try:
                yield cursor
                cursor.commit()
            except BaseException:
                roll_back(cursor)
                raise
            finally:  # a commit that failed may have reached the disk
                with self._idle:
                    self.version += not is_sampling

    def reopen(self) -> None:
        """Open the file anew, which replays what was committed; needed after a fatal error of DuckDB's, and to have
        back what it keeps as long as the file is open.

        Raises StoreError when it cannot be written: it is open for reading then, if that is possible.
        """
        with self._idle:
            self._reopening = True
            try:
                self._idle.wait_for(lambda: self._cursors == 0)
                self._connection.close()
                self._connect()
            finally:
                self._reopening = False
                self._idle.notify_all()

    def _connect(self) -> None:
        try:
            self._connection, self._refusal = connect(self.path), None
        except StoreError as refusal:
            self._refusal = str(refusal)
            self._connection = connect(self.path, read_only=True)
            raise

    def close(self) -> None:
        """Close the file once every cursor has been left; waits for that without a limit."""
        with self._idle:
            self._idle.wait_for(lambda: self._cursors == 0)
            self._connection.close()


def roll_back(cursor: duckdb.DuckDBPyConnection) -> None:
    """End the transaction if one is open: a commit, failed or not, has ended it, and a database given up has none."""
    try:
        cursor.rollback()
    except (duckdb.TransactionException, duckdb.FatalException):
        return
