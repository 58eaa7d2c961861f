"""Section of a log for a page, read on demand: its last lines or those at a byte offset, important ones marked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from collectors.logs.log_marks import LIVE_MARKS, LineMark, mark_events
from engines import BY_NAME
from engines.access_log import is_poll
from engines.prefixes import strip_ansi
from machine.regular_file import NotRegularError, open_regular
from redaction import mask_text

WINDOW_BYTES = 1 << 17
MAX_LINE_CHARS = 2000  # per line


NO_MARK = LineMark(kind=None, why=None, stamp=None, elapsed_s=None)


class ViewLine(LineMark):
    """A line as a page shows it; the fields of a missing mark are None.

    `at` is the byte offset of the line. It continues across rotations, so that a later line always has a higher
    offset; line numbers would require reading the whole file.
    """

    at: int
    text: str


class ByteRange(NamedTuple):
    """Bytes of the file that the shown lines cover, end excluded, and the size of the file."""

    start: int
    end: int
    size: int


class LogTailView:
    """Lines of one growing log; cheap to call again, since only a changed file is read.

    Positions are byte offsets, so that the middle of a file of gigabytes is read as fast as its end.

    Access log lines of health checks and scrapes are left out; they stay in the file.
    """

    def __init__(self, path: Path, engine: str) -> None:
        self._path = path
        self._engine = BY_NAME.get(engine)
        self._last_state: tuple[int, int, int, int | None, int] | None = None  # inode, size, limit, since, parsed bytes
        self._last_range: ByteRange | None = None
        self.shown_range: ByteRange | None = None  # of the lines returned last
        self._lines: list[ViewLine] = []
        self._bytes_before = 0  # in earlier files of this path
        self.problem: str | None = None  # reason why an existing file could not be read

    def lines(self, limit: int = 200, since: int | None = None) -> list[ViewLine]:
        """Return at most `limit` lines and 128 KiB: the last ones, or those that begin at or after byte `since`.

        Returns none if there is no file (yet) or it cannot be read; `problem` then has the reason.
        """
        self.problem = self.shown_range = None
        try:
            with open_regular(self._path) as file:
                return self._read(file.fileno(), limit, since)
        except FileNotFoundError:
            return []
        except NotRegularError as problem:
            self.problem = str(problem)
        except OSError as problem:
            self.problem = f"{self._path} cannot be read: {problem.strerror}"
        return []

    def _read(self, fd: int, limit: int, since: int | None) -> list[ViewLine]:
        stat = os.fstat(fd)
        state = (stat.st_ino, stat.st_size, limit, since, LIVE_MARKS.parsed_to(str(self._path)))
        if state != self._last_state:
            if self._last_state and (stat.st_ino != self._last_state[0] or stat.st_size < self._last_state[1]):
                self._bytes_before += self._last_state[1]
            start, window = _whole_lines(fd, stat.st_size, since)
            window_lines = self._marked_lines(window, start)
            self._last_state, self._lines = state, window_lines[-limit:] if since is None else window_lines[:limit]
            self._last_range = _range_of(
                window_lines, self._lines, self._bytes_before, ByteRange(start, start + len(window), stat.st_size)
            )
        self.shown_range = self._last_range
        return self._lines

    def _marked_lines(self, window: bytes, start: int) -> list[ViewLine]:
        raw = window.split(b"\n")
        if raw and not raw[-1]:
            raw.pop()
        marks = self._marks(window, start)
        offsets = accumulate((len(text) + 1 for text in raw), initial=start)
        lines = [
            (at, text) for at, text in zip(offsets, raw, strict=False) if not is_poll(text.decode("utf-8", "replace"))
        ]
        return [
            ViewLine(at=self._bytes_before + at, text=_clean_text(text), **marks.get(at, NO_MARK)) for at, text in lines
        ]

    def _marks(self, window: bytes, start: int) -> Mapping[int, LineMark]:
        """Return the marks by byte offset of the line.

        Marks of a live log come from its collector; a section that it no longer keeps is parsed here.
        """
        if self._engine is None or self._engine.log is None:
            return {}
        marks = LIVE_MARKS.marks_between(str(self._path), start, start + len(window))
        if marks is not None:
            return marks
        parser = self._engine.log.log_parser()
        events = [*parser.feed(window), *parser.close()]
        return {start + offset: mark for offset, mark in mark_events(events).items()}


def _whole_lines(fd: int, size: int, since: int | None) -> tuple[int, bytes]:
    """Return the offset of the first complete line of a window, and the window's complete lines."""
    # One byte earlier, which shows whether a line begins there.
    start = max(size - WINDOW_BYTES, 0) if since is None else max(min(since, size) - 1, 0)
    window = os.pread(fd, WINDOW_BYTES, start)
    cut = window.find(b"\n") + 1 if start or since == 1 else 0
    end = len(window) if start + len(window) >= size else window.rfind(b"\n") + 1
    return start + cut, window[cut : end if end > cut else len(window)]


def _range_of(window_lines: list[ViewLine], lines: list[ViewLine], bytes_before: int, window: ByteRange) -> ByteRange:
    """Return the byte range of these lines of a window."""
    if not lines or len(lines) == len(window_lines):
        return window
    if lines[0] is window_lines[0]:
        return window._replace(end=window_lines[len(lines)]["at"] - bytes_before)
    return window._replace(start=lines[0]["at"] - bytes_before)


def _clean_text(raw: bytes) -> str:
    """Return a line without colours and secrets, as a terminal shows it after a progress bar's carriage returns."""
    text = strip_ansi(raw.decode("utf-8", "replace")).rstrip("\r")
    return mask_text(text.rpartition("\r")[2][:MAX_LINE_CHARS])
