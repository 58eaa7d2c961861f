"""The end of a log for a page: its last lines, those that matter marked, read from the file when asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import TypedDict

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


class LogTailView:
    """The last lines of one growing log; cheap to ask again, for only a changed file is read.

    An access log's lines of looks at the server are left out: they keep their numbers, and stay in the file.
    """

    def __init__(self, path: Path, engine: str) -> None:
        self._path = path
        self._engine = BY_NAME.get(engine)
        self._seen: tuple[int, int, int] | None = None  # inode, size, limit
        self._lines: list[ViewLine] = []
        self._before = 0  # bytes of the files that were here before
        self.why: str | None = None  # there are no lines, where that is not because there is no file

    def lines(self, limit: int = 200) -> list[ViewLine]:
        """At most `limit` last lines, of the last 128 KiB; none when there is no file (yet) or it may not be read."""
        self.why = None
        try:
            with opened(self._path) as file:
                return self._read(file.fileno(), limit)
        except FileNotFoundError:
            return []
        except NotRegularError as problem:
            self.why = str(problem)
        except OSError as problem:
            self.why = f"{self._path} cannot be read: {problem.strerror}"
        return []

    def _read(self, fd: int, limit: int) -> list[ViewLine]:
        stat = os.fstat(fd)
        seen = (stat.st_ino, stat.st_size, limit)
        if seen != self._seen:
            if self._seen and (stat.st_ino != self._seen[0] or stat.st_size < self._seen[1]):
                self._before += self._seen[1]
            start = max(stat.st_size - WINDOW_BYTES, 0)
            window = os.pread(fd, stat.st_size - start, start)
            if start:
                cut = window.find(b"\n") + 1
                start, window = start + cut, window[cut:]
            self._seen, self._lines = seen, self._marked(window, self._before + start, limit)
        return self._lines

    def _marked(self, window: bytes, start: int, limit: int) -> list[ViewLine]:
        raw = window.split(b"\n")
        if raw and not raw[-1]:
            raw.pop()
        marks = self._marks(window)
        begins = accumulate((len(text) + 1 for text in raw), initial=start)
        told = [
            (number, at, text)
            for number, (at, text) in enumerate(zip(begins, raw, strict=False), 1)
            if not is_look(text.decode("utf-8", "replace"))
        ]
        return [ViewLine(at=at, text=_plain(text), **marks.get(number, NO_MARK)) for number, at, text in told[-limit:]]

    def _marks(self, window: bytes) -> dict[int, _Said]:
        """By line number within the window; a fresh parser's, which marks each line by what it says itself."""
        if self._engine is None or self._engine.log is None:
            return {}
        parser = self._engine.log.log_parser()
        events = [*parser.feed(window), *parser.close()]
        samples = {event.line: _of_sample(event) for event in events if isinstance(event, ParsedSample)}
        times = {line: said["elapsed_s"] for line, said in samples.items()}
        return samples | {event.line: _of_mark(event, times) for event in events if isinstance(event, Mark)}


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
