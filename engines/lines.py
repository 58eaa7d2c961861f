"""Splits the bytes of a log into `Line`s at LF, numbers them and strips the prefixes from each message.

Only LF ends a line. Within one, CR redraws it: of a progress bar the last drawing counts, and a record
that another process wrote behind the bar is a line of its own with the same number and offset.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from engines.base import Line
from engines.line_filter import LineFilter
from engines.prefixes import Peeled, find_glued_record, read_yearless_stamp, strip_ansi, strip_prefixes

KEPT_BYTES = 1 << 16  # of a longer line the first and the last half of this are kept
_HALF = KEPT_BYTES // 2
_SEAM = b" ... "
_PLAIN = re.compile(
    r"(?:\((\w+) pid=\d+\) )?(DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d-\d\d \d\d:\d\d:\d\d) \[[\w./]+:\d+\] "
    r"(?!DEBUG|INFO|WARN|ERROR|CRIT|FATAL|TRACE|[IWEF]\d{4} )(?=[^\s\"'`\[{(<0-9\x1b])",
    re.ASCII,
)
_BAR = re.compile(r"\d{1,3}%(?:\||\s+Completed\s*\||\s*\[)")


class LineSplitter:
    """Turns chunks into lines; the result does not depend on where the chunks were cut.

    Only lines that pass the filter are given out, though all are counted: a grammar that needs one line in ten never
    pays for the other nine. While `skips_routine` is set, which may change from one line to the next, the
    routine ones are not given out either.
    """

    def __init__(self, line_filter: LineFilter | None = None) -> None:
        self._filter = line_filter or LineFilter()
        self.skips_routine = False
        self._partial = bytearray()
        self._partial_size = 0
        self._number = 1
        self.offset = 0  # where the line that is not complete yet starts
        self.first_cut: tuple[int, int] | None = None  # number and offset of the first line of which not all is kept

    def feed(self, data: bytes) -> Iterator[Line]:
        """The lines that `data` completes; the generator must be used up before the next call."""
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

    def close(self) -> Iterator[Line]:
        """The line that has no LF yet, if there is one."""
        raw, size, offset = bytes(self._partial), self._partial_size, self.offset
        if size > KEPT_BYTES and self.first_cut is None:
            self.first_cut = self._number, offset
        self._partial.clear()
        self._partial_size = 0
        self.offset += size
        selected, _ = self._select(raw + b"\n", 0, len(raw) + 1) if size else ((), 0)
        for *_, is_routine in selected:
            if not (is_routine and self.skips_routine):
                yield from read_lines(_shorten(raw, size), self._number, offset)

    def _complete_lines(self, data: bytes, begin: int, end: int) -> Iterator[Line]:
        if self.first_cut is None and (start := _find_long(data, begin, end)) is not None:
            self.first_cut = self._number + data.count(b"\n", begin, start), self.offset - begin + start
        selected, count = self._select(data, begin, end)
        offset = self.offset - begin
        for index, start, stop, is_routine in selected:
            if not (is_routine and self.skips_routine):
                yield from read_lines(_shorten(data[start:stop], stop - start), self._number + index, offset + start)
        self._number += count
        self.offset += end - begin

    def _select(self, data: bytes, begin: int, end: int) -> tuple[Iterable[tuple[int, int, int, bool]], int]:
        from engines.sifting import select_lines  # here, for Arrow's 80 MB are for those who read logs

        return select_lines(data, begin, end, self._filter)

    def _keep_partial(self, data: bytes) -> None:
        self._partial_size += len(data)
        self._partial += data
        if len(self._partial) > KEPT_BYTES:
            del self._partial[_HALF:-_HALF]


def _find_long(data: bytes, begin: int, end: int) -> int | None:
    """Where the first line starts of which the middle is not kept."""
    while end - begin > KEPT_BYTES:
        last = data.rfind(b"\n", begin, begin + KEPT_BYTES + 1)
        if last < 0:
            return begin
        begin = last + 1
    return None


def _shorten(raw: bytes, size: int) -> bytes:
    """The line itself, or of a long one its two ends; `raw` may already be only those."""
    return raw if size <= KEPT_BYTES else raw[:_HALF] + _SEAM + raw[-_HALF:]


def read_lines(raw: bytes, number: int, offset: int) -> Iterable[Line]:
    """The line or lines that stand between two LFs; at least one, unless a bar is all there is before a CR."""
    whole = raw.decode("utf-8", "replace").rstrip("\r")
    plain = read_plain(whole, number, offset)
    return (plain,) if plain is not None else _read_with_prefixes(whole, number, offset)


def read_plain(whole: str, number: int, offset: int) -> Line | None:
    """The line behind the commonest prefix, as `strip_prefixes` would read it; None if it has another."""
    found = _PLAIN.match(whole)
    if found is None:
        return None
    text = whole[found.end() :]
    if "[" in text or "\r" in text or "\x1b" in text:
        return None
    process, level, stamp = found.groups()
    return Line(number, offset, text, whole, read_yearless_stamp(stamp), None, process, level)


def _read_with_prefixes(whole: str, number: int, offset: int) -> Iterator[Line]:
    segments = [s for s in strip_ansi(whole).split("\r") if s.strip()] or [""]
    process = None
    for index, segment in enumerate(segments):
        is_last = index == len(segments) - 1
        for stripped in _records(segment):
            process = stripped.process or process
            if (is_last or not _BAR.search(stripped.text)) and (stripped.text or len(segments) == 1):
                yield _line(stripped, process, whole, number, offset)


def _records(segment: str) -> Iterator[Peeled]:
    """The segment's message, or what was drawn without an end of line and the record glued behind it."""
    whole = strip_prefixes(segment)
    for text in whole.text.splitlines() if whole.is_multiline else [whole.text]:
        stripped = strip_prefixes(text, whole) if whole.is_multiline else whole
        cut = find_glued_record(stripped)
        if cut is None:
            yield stripped
        else:
            yield replace(stripped, text=stripped.text[:cut].rstrip())
            yield strip_prefixes(stripped.text[cut:], stripped)


def _line(stripped: Peeled, process: str | None, raw: str, number: int, offset: int) -> Line:
    return Line(
        number=number,
        offset=offset,
        text=stripped.text,
        raw=raw,
        stamp=stripped.stamp,
        elapsed_s=stripped.elapsed_s,
        process=process,
        level=stripped.level,
    )
