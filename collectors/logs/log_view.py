"""A section of a log for a page, read on demand: its last lines or those at a byte offset, important ones marked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, TypedDict

from engines import BY_NAME
from engines.access_log import is_look
from engines.base import Mark, ParsedSample
from engines.prefixes import strip_ansi
from machine.regular_file import NotRegularError, opened
from redaction import mask_text

WINDOW_BYTES = 1 << 17
LONGEST_LINE = 2000  # characters shown of one line


class _Said(TypedDict):
    kind: str | None
    why: str | None  # one sentence, for warnings and failures
    stamp: datetime | None  # as printed
    elapsed_s: float | None


NO_MARK = _Said(kind=None, why=None, stamp=None, elapsed_s=None)


class ViewLine(_Said):
    """One line as a page shows it; what its mark says stays None where it has none.

    `at` is the byte where it begins. It counts on where the file begins anew, so that a later line always has the
    higher one; lines are not counted, which would mean to read the whole file.
    """

    at: int
    text: str


class Place(NamedTuple):
    """Which bytes of the file the shown lines are, the last one excluded, and how long the file is."""

    start: int
    end: int
    size: int


class LogTailView:
    """The lines of one growing log; cheap to ask again, for only a changed file is read.

    A place is a byte, so that the middle of a file of gigabytes is as near as its end: nothing before it is read.

    An access log's lines of looks at the server are left out: they keep their numbers, and stay in the file.
    """

    def __init__(self, path: Path, engine: str) -> None:
        self._path = path
        self._engine = BY_NAME.get(engine)
        self._seen: tuple[int, int, int, int | None] | None = None  # inode, size, limit, place
        self._shown: Place | None = None
        self.place: Place | None = None  # of the lines that were asked for last
        self._lines: list[ViewLine] = []
        self._before = 0  # bytes of the files that were here before
        self.why: str | None = None  # there are no lines, where that is not because there is no file

    def lines(self, limit: int = 200, since: int | None = None) -> list[ViewLine]:
        """At most `limit` lines and 128 KiB: the last ones, or those from the first that begins at byte `since` on.

        None of them when there is no file (yet), or it may not be read: `why` says so then.
        """
        self.why = self.place = None
        try:
            with opened(self._path) as file:
                return self._read(file.fileno(), limit, since)
        except FileNotFoundError:
            return []
        except NotRegularError as problem:
            self.why = str(problem)
        except OSError as problem:
            self.why = f"{self._path} cannot be read: {problem.strerror}"
        return []

    def _read(self, fd: int, limit: int, since: int | None) -> list[ViewLine]:
        stat = os.fstat(fd)
        seen = (stat.st_ino, stat.st_size, limit, since)
        if seen != self._seen:
            if self._seen and (stat.st_ino != self._seen[0] or stat.st_size < self._seen[1]):
                self._before += self._seen[1]
            start, window = _whole_lines(fd, stat.st_size, since)
            marked = self._marked(window, self._before + start)
            self._seen, self._lines = seen, marked[-limit:] if since is None else marked[:limit]
            self._shown = _shown(marked, self._lines, self._before, Place(start, start + len(window), stat.st_size))
        self.place = self._shown
        return self._lines

    def _marked(self, window: bytes, start: int) -> list[ViewLine]:
        raw = window.split(b"\n")
        if raw and not raw[-1]:
            raw.pop()
        marks = self._marks(window)
        begins = accumulate((len(text) + 1 for text in raw), initial=start)
        kept = [
            (number, at, text)
            for number, (at, text) in enumerate(zip(begins, raw, strict=False), 1)
            if not is_look(text.decode("utf-8", "replace"))
        ]
        return [ViewLine(at=at, text=_plain(text), **marks.get(number, NO_MARK)) for number, at, text in kept]

    def _marks(self, window: bytes) -> dict[int, _Said]:
        """By line number within the window; a fresh parser's, which marks each line by what it says itself."""
        if self._engine is None or self._engine.log is None:
            return {}
        parser = self._engine.log.log_parser()
        events = [*parser.feed(window), *parser.close()]
        samples = {event.line: _of_sample(event) for event in events if isinstance(event, ParsedSample)}
        times = {line: said["elapsed_s"] for line, said in samples.items()}
        return samples | {event.line: _of_mark(event, times) for event in events if isinstance(event, Mark)}


def _whole_lines(fd: int, size: int, since: int | None) -> tuple[int, bytes]:
    """Where the lines of a window begin, and the window without the lines that it cuts."""
    # With the byte before, which shows whether a line begins there.
    start = max(size - WINDOW_BYTES, 0) if since is None else max(min(since, size) - 1, 0)
    window = os.pread(fd, WINDOW_BYTES, start)
    cut = window.find(b"\n") + 1 if start or since == 1 else 0
    end = len(window) if start + len(window) >= size else window.rfind(b"\n") + 1
    return start + cut, window[cut : end if end > cut else len(window)]


def _shown(marked: list[ViewLine], lines: list[ViewLine], before: int, window: Place) -> Place:
    """The bytes of these lines of a window."""
    if not lines or len(lines) == len(marked):
        return window
    if lines[0] is marked[0]:
        return window._replace(end=marked[len(lines)]["at"] - before)
    return window._replace(start=lines[0]["at"] - before)


def _of_sample(event: ParsedSample) -> _Said:
    return _Said(kind="throughput", why=None, stamp=event.stamp, elapsed_s=event.elapsed_s)


def _of_mark(event: Mark, elapsed_s: Mapping[int, float | None]) -> _Said:
    why = event.text if event.kind in ("warning", "failure") else None
    return _Said(
        kind=event.kind, why=mask_text(why) if why else None, stamp=event.stamp, elapsed_s=elapsed_s.get(event.line)
    )


def _plain(raw: bytes) -> str:
    """A line without colours or secrets, as the terminal would leave it after a progress bar's carriage returns."""
    text = strip_ansi(raw.decode("utf-8", "replace")).rstrip("\r")
    return mask_text(text.rpartition("\r")[2][:LONGEST_LINE])
