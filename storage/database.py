"""The store's file: its single owner, cursors, and reopening after DuckDB has invalidated the database.

While it cannot be reopened for writing (such as on a read-only disk), it is open for reading.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from errors import PitwallError

# Data that is not checkpointed is in memory, at four times its size in the log: about 50 MiB at DuckDB's default of
# 16 MB. DuckDB's default memory limit of 80 % is too much for a monitor beside a server.
OWNERS_LIMITS = "SET GLOBAL checkpoint_threshold = '4MB'; SET GLOBAL memory_limit = '2GB'"
# Else each scan of each statement reads the footers of its sealed files again: 20 ms for that of 10 million rows.
FOOTERS_ONCE = "SET GLOBAL parquet_metadata_cache = true"
MOST_COMMAND_BYTES = 1 << 16
STUDY_SUFFIXES = (".toml", ".yaml", ".yml")


class StoreError(PitwallError):
    """A store operation failed; the message is one sentence for the user."""


class StoreInUseError(StoreError):
    """Another process owns the store."""


class StoreInCommandError(StoreInUseError):
    """A command in a shell owns the store."""


def connect(path: Path, read_only: bool = False) -> duckdb.DuckDBPyConnection:
    """Open a connection in UTC; raises StoreError if the file cannot be opened."""
    try:
        connection = duckdb.connect(str(path), read_only=read_only)
    except duckdb.Error as error:
        raise _refusal(path, str(error)) from error
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    if not read_only:
        connection.execute(OWNERS_LIMITS)
        connection.execute(FOOTERS_ONCE)
    return connection


def _refusal(path: Path, text: str) -> StoreError:
    holder = re.search(r"PID (\d+)", text)
    if "lock" in text.lower() and holder:
        return in_use_error(int(holder[1]), path.parent)
    return StoreError(f"The store {path} cannot be opened: {text.splitlines()[0]}")


def in_use_error(pid: int, folder: Path) -> StoreInUseError:
    """Return the refusal that names the process which owns the store, and how it is freed if that is a command."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()[:MOST_COMMAND_BYTES].decode(errors="replace").split("\0")
    except OSError:
        words = []
    if words == [""]:  # the kernel shows no command line of a process that ends, which still has its locks
        return StoreInCommandError(f"A process that is ending (pid {pid}) still uses this store: {folder}.")
    names = [Path(word).name for word in words]
    command = words[names.index("pitwall") + 1 :] if "pitwall" in names else []
    if not command or command[0] in ("", "run"):
        return StoreInUseError(f"Another Pitwall (pid {pid}) uses this store: {folder}.")
    return StoreInCommandError(
        f"The command ./pitwall {_command_name(command)} (pid {pid}) uses this store: {folder}. Wait for its end, or "
        "end it with Ctrl-C; a running Pitwall continues its imports and its study."
    )


def _command_name(words: Sequence[str]) -> str:
    """Return 'import', or 'study run tries.toml': the command without its other arguments."""
    name = " ".join(word for word in words[:2] if word.isalpha())
    if name != "study run" or len(words) < 3:
        return name
    file = next((Path(word).name for word in words[2:] if word.endswith(STUDY_SUFFIXES)), "")
    return f"{name} {file}" if file.isprintable() and file else name


class Database:
    """One open file and its cursors; the file is reopened only after every cursor has been closed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Covers all rows except samples of live runs; increased with each transaction, before any callback.
        self.version = 0
        self._connection = connect(path)
        self._refusal: str | None = None  # why nothing can be written now
        self._idle = threading.Condition()
        self._cursors = 0
        self._reopening = False

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor for the caller, closed when left; thread-safe. Raises StoreError if the store is closed."""
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

        is_sampling: it only adds samples of live runs.
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
        """Reopen the file, which replays committed data; needed after a fatal DuckDB error, and to free memory that
        DuckDB keeps as long as the file is open.

        Raises StoreError if it cannot be written: it is then open for reading, if possible.
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
        """Close the file after every cursor has been closed; waits without a limit."""
        with self._idle:
            self._idle.wait_for(lambda: self._cursors == 0)
            self._connection.close()


def roll_back(cursor: duckdb.DuckDBPyConnection) -> None:
    """End the transaction if one is open: any commit, even a failed one, ends it, and so does a fatal error."""
    try:
        cursor.rollback()
    except (duckdb.TransactionException, duckdb.FatalException):
        return
