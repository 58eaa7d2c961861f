"""Splits the bytes of a log into `ParsedLine`s at LF, numbers them and strips the prefixes from each message.

Only LF ends a line. A CR within it redraws it: of a progress bar the last drawing counts, and a record that another
process wrote after the bar becomes a line of its own with the same number and offset.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from engines.base import ParsedLine
from engines.line_filter import LineFilter
from engines.prefixes import (
    StrippedText,
    find_glued_records,
    read_yearless_stamp,
    strip_ansi,
    strip_prefixes,
    without_frame,
)

KEPT_BYTES = 1 << 16  # of a longer line, the first and the last half of this are kept
_HALF = KEPT_BYTES // 2
_SEAM = b" ... "
_PLAIN = re.compile(
    r"(?:\((\w+) pid=\d+\) )?(DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d-\d\d \d\d:\d\d:\d\d) \[[\w./]+:\d+\] "
    r"(?!DEBUG|INFO|WARN|ERROR|CRIT|FATAL|TRACE|[IWEF]\d{4} )(?=[^\s\"'`\[{(<0-9\x1b])",
    re.ASCII,
)
_BAR = re.compile(r"\d{1,3}%(?:\||\s+Completed\s*\||\s*\[)")


class LineSplitter:
    """Turns chunks into lines; the result does not depend on the chunk boundaries.

    All lines are counted, but only lines that pass the filter are yielded, so a grammar that needs one line in ten does
    not pay for the others. While `skips_routine` is set, which may change between lines, routine lines are skipped too.
    """

    def __init__(self, line_filter: LineFilter | None = None) -> None:
        self._filter = line_filter or LineFilter()
        self.skips_routine = False
        self._partial = bytearray()
        self._partial_size = 0
        self._number = 1
        self.offset = 0  # start of the incomplete line
        self.first_truncated: tuple[int, int] | None = None  # number and offset of the first truncated line

    def feed(self, data: bytes) -> Iterator[ParsedLine]:
        """Yield the lines that `data` completes; the generator must be exhausted before the next call."""
        start = 0
        if self._partial_size:
            first = data.find(b"\n")
            if first < 0:
                self._keep_partial(data)
                return
            self._keep_partial(data[:first])
            yield from self.close()
            self.offset += 1
            self._number += 1
            start = first + 1
        end = data.rfind(b"\n") + 1
        if end > start:
            yield from self._complete_lines(data, start, end)
        self._keep_partial(data[max(start, end) :])

    def close(self) -> Iterator[ParsedLine]:
        """Yield the line that has no LF yet, if there is one."""
        raw, size, offset = bytes(self._partial), self._partial_size, self.offset
        if size > KEPT_BYTES and self.first_truncated is None:
            self.first_truncated = self._number, offset
        self._partial.clear()
        self._partial_size = 0
        self.offset += size
        selected, _ = self._select(raw + b"\n", 0, len(raw) + 1) if size else ((), 0)
        for *_, is_routine in selected:
            if not (is_routine and self.skips_routine):
                yield from read_lines(_shorten(raw, size), self._number, offset)

    def _complete_lines(self, data: bytes, begin: int, end: int) -> Iterator[ParsedLine]:
        if self.first_truncated is None and (start := _find_long(data, begin, end)) is not None:
            self.first_truncated = self._number + data.count(b"\n", begin, start), self.offset - begin + start
        selected, count = self._select(data, begin, end)
        offset = self.offset - begin
        for index, start, stop, is_routine in selected:
            if not (is_routine and self.skips_routine):
                yield from read_lines(_shorten(data[start:stop], stop - start), self._number + index, offset + start)
        self._number += count
        self.offset += end - begin

    def _select(self, data: bytes, begin: int, end: int) -> tuple[Iterable[tuple[int, int, int, bool]], int]:
        from engines.line_selection import select_lines  # lazy: only log readers need Arrow's 80 MB

        return select_lines(data, begin, end, self._filter)

    def _keep_partial(self, data: bytes) -> None:
        self._partial_size += len(data)
        self._partial += data
        if len(self._partial) > KEPT_BYTES:
            del self._partial[_HALF:-_HALF]


def _find_long(data: bytes, begin: int, end: int) -> int | None:
    """Return the start of the first line that exceeds the length limit; None if there is none."""
    while end - begin > KEPT_BYTES:
        last = data.rfind(b"\n", begin, begin + KEPT_BYTES + 1)
        if last < 0:
            return begin
        begin = last + 1
    return None


def _shorten(raw: bytes, size: int) -> bytes:
    """Return the line, or the two ends of a long one; `raw` may already be truncated."""
    return raw if size <= KEPT_BYTES else raw[:_HALF] + _SEAM + raw[-_HALF:]


def read_lines(raw: bytes, number: int, offset: int) -> Iterable[ParsedLine]:
    """Return the line or lines between two LFs; at least one, unless there is only a bar before a CR."""
    text = raw.decode("utf-8", "replace").rstrip("\r")
    plain = read_plain(text, number, offset)
    return (plain,) if plain is not None else _read_with_prefixes(text, number, offset)


def read_plain(raw_text: str, number: int, offset: int) -> ParsedLine | None:
    """Read a line with the most common prefix, equivalently to `strip_prefixes`; None if it has another prefix."""
    match = _PLAIN.match(raw_text)
    if match is None:
        return None
    text = raw_text[match.end() :]
    if "[" in text or "\r" in text or "\x1b" in text or find_glued_records(text):
        return None
    process, level, stamp = match.groups()
    return ParsedLine(number, offset, text, raw_text, read_yearless_stamp(stamp), None, process, level)


def _read_with_prefixes(text: str, number: int, offset: int) -> Iterator[ParsedLine]:
    segments = [s for s in without_frame(strip_ansi(text)).split("\r") if s.strip()] or [""]
    process = None
    for index, segment in enumerate(segments):
        is_last = index == len(segments) - 1
        for stripped in _records(segment):
            process = stripped.process or process
            if (is_last or not _BAR.search(stripped.text)) and (stripped.text or len(segments) == 1):
                yield _line(stripped, process, text, number, offset)


def _records(segment: str) -> Iterator[StrippedText]:
    """Yield the segment's message, and the records glued to it."""
    message = strip_prefixes(segment)
    for text in message.text.splitlines() if message.is_multiline else [message.text]:
        stripped = strip_prefixes(text, message) if message.is_multiline else message
        starts = find_glued_records(stripped.text)
        yield replace(stripped, text=stripped.text[: starts[0]].rstrip()) if starts else stripped
        for start, end in pairwise([*starts, len(stripped.text)]):
            yield strip_prefixes(stripped.text[start:end].rstrip(), stripped)


def _line(stripped: StrippedText, process: str | None, raw: str, number: int, offset: int) -> ParsedLine:
    return ParsedLine(
        number=number,
        offset=offset,
        text=stripped.text,
        raw=raw,
        stamp=stripped.stamp,
        elapsed_s=stripped.elapsed_s,
        process=process,
        level=stripped.level,
    )
