"""Pitwall with a black box: `python tests/e2e/faults/traced_pitwall.py MARKS`, as `./pitwall run`.

What its store is doing at any moment stands in a mapped file, which outlives a kill -9. Sealing, publishing and
checkpoints come many times as often as they would; how they are done is untouched.
"""

from __future__ import annotations

import mmap
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
CELL = struct.Struct("<Q")
PHASES = ("write", "publish", "seal", "commit by store-writer", "commit by store-sealer", "other commit")
CELLS = (*PHASES, "rows stored", "rows on their way")


class Marks:
    """Numbers in a mapped file: of a phase the time it began in nanoseconds, 0 while it is not under way."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(CELL.size * len(CELLS)))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)

    def __getitem__(self, name: str) -> int:
        return int(CELL.unpack_from(self._map, CELL.size * CELLS.index(name))[0])

    def __setitem__(self, name: str, value: int) -> None:
        CELL.pack_into(self._map, CELL.size * CELLS.index(name), value)

    @contextmanager
    def during(self, name: str) -> Iterator[None]:
        self[name] = time.time_ns()
        try:
            yield
        finally:
            self[name] = 0


class MarkedCursor:
    """A cursor whose commits are marked with who makes them."""

    def __init__(self, cursor: Any, marks: Marks) -> None:
        self._cursor = cursor
        self._marks = marks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)

    def commit(self) -> None:
        mine = f"commit by {threading.current_thread().name}"
        with self._marks.during(mine if mine in PHASES else "other commit"):
            self._cursor.commit()


def hurry() -> None:
    """What would come every 30 s or every 16 MB comes all the while."""
    from storage import database
    from storage.files import publish, seal

    seal.EVERY_S, seal.LIVE_AGE, seal.LIVE_ROWS = 0.3, timedelta(seconds=2), 1000
    publish.PUBLISH_INTERVAL_S, publish.MAX_CPU_SHARE = 0.3, 0.5
    connect = database.connect

    def connected(path: Path) -> Any:
        connection = connect(path)
        connection.execute("SET GLOBAL checkpoint_threshold = '200KB'")
        return connection

    database.connect = connected


def trace(marks: Marks) -> None:
    from storage.database import Database
    from storage.files.publish import Publisher
    from storage.files.seal import Sealer
    from storage.writer import Writer

    cursor, publish = Database.cursor, Publisher.publish
    due, seal_due, try_commit = Sealer._due, Sealer.seal_due, Writer._try_commit

    @contextmanager
    def marked_cursor(self: Any) -> Iterator[Any]:
        with cursor(self) as real:
            yield MarkedCursor(real, marks)

    def marked_due(self: Any, now: Any) -> Any:
        found = due(self, now)
        marks["seal"] = time.time_ns() if found else 0
        return found

    def marked_seal(self: Any) -> int:
        try:
            return seal_due(self)
        finally:
            marks["seal"] = 0

    def marked_publish(self: Any) -> None:
        with marks.during("publish"):
            publish(self)

    Database.cursor = marked_cursor
    Sealer._due, Sealer.seal_due = marked_due, marked_seal
    Publisher.publish = marked_publish
    Writer._try_commit = marking_commits(try_commit, marks)


def marking_commits(try_commit: Callable[..., bool], marks: Marks) -> Callable[..., bool]:
    """Which rows the store has said to be durable, and which it is about to store."""
    from storage.rows import SAMPLE_TABLES

    samples = set(SAMPLE_TABLES.values())

    def marked(self: Any, batch: Any) -> bool:
        rows = sum(table.num_rows for item in batch for name, table in item.tables.items() if name in samples)
        marks["rows on their way"] = rows
        with marks.during("write"):
            stored = try_commit(self, batch)
        if stored:
            marks["rows stored"] += rows
            marks["rows on their way"] = 0
        return stored

    return marked


def main() -> None:
    marks = Marks(Path(sys.argv[1]))
    sys.path[0] = str(ROOT)
    hurry()
    trace(marks)
    from cli.main import main as run_command

    sys.exit(run_command(["run"]))


if __name__ == "__main__":
    main()
