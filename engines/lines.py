"""Bytes of a log as they come -> `Line`s: cut at LF, numbered, everything around the message peeled off.

Only LF ends a line. Within one, CR redraws it: of a progress bar the last drawing counts, and a record
that another process wrote behind the bar is a line of its own with the same number and offset.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from engines.base import Line
from engines.prefixes import Peeled, find_glued_record, peel

KEPT_BYTES = 1 << 16  # of a longer line the first and the last half of this are kept
_HALF = KEPT_BYTES // 2
_SEAM = b" ... "
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][0-9A-B]|\x1b\][^\x07]*\x07|(?<!\w)\[(?:\d{1,3};)*\d{1,3}m")
_HAS_ANSI = re.compile(r"\x1b|\[(?:\d;)?0m")  # a paste may have lost the ESC of its codes
_BAR = re.compile(r"\d{1,3}%(?:\||\s+Completed\s*\||\s*\[)")


class LineSplitter:
    """Turns chunks into lines; the result does not depend on where the chunks were cut.

    With `needles`, only lines in which the pattern is found are given out, though all are counted:
    a grammar that needs one line in ten never pays for the other nine.
    """

    def __init__(self, needles: re.Pattern[bytes] | None = None) -> None:
        self._needles = needles
        self._partial = bytearray()
        self._partial_size = 0
        self._number = 1
        self.offset = 0  # where the line that is not complete yet starts

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
            start = end
        self._keep_partial(data[start:])

    def close(self) -> Iterator[Line]:
        """The line that has no LF yet, if there is one."""
        raw, size, offset = bytes(self._partial), self._partial_size, self.offset
        self._partial.clear()
        self._partial_size = 0
        self.offset += size
        if size and (self._needles is None or self._needles.search(raw)):
            yield from read_lines(_shorten(raw, size), self._number, offset)

    def _complete_lines(self, data: bytes, start: int, end: int) -> Iterator[Line]:
        base, counted = self.offset - start, start
        for begin, stop in self._spans(data, start, end):
            self._number += data.count(b"\n", counted, begin)
            counted = begin
            yield from read_lines(_shorten(data[begin:stop], stop - begin), self._number, base + begin)
        self._number += data.count(b"\n", counted, end)
        self.offset = base + end

    def _spans(self, data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
        while start < end:
            begin = start
            if self._needles is not None:
                found = self._needles.search(data, start, end)
                if found is None:
                    return
                begin = data.rfind(b"\n", start, found.start()) + 1 or start
                start = found.start()
            stop = data.find(b"\n", start, end)
            yield begin, stop
            start = stop + 1

    def _keep_partial(self, data: bytes) -> None:
        self._partial_size += len(data)
        self._partial += data
        if len(self._partial) > KEPT_BYTES:
            del self._partial[_HALF:-_HALF]


def _shorten(raw: bytes, size: int) -> bytes:
    """The line itself, or of a long one its two ends; `raw` may already be only those."""
    return raw if size <= KEPT_BYTES else raw[:_HALF] + _SEAM + raw[-_HALF:]


def read_lines(raw: bytes, number: int, offset: int) -> Iterator[Line]:
    """The line or lines that stand between two LFs; at least one, unless a bar is all there is before a CR."""
    whole = raw.decode("utf-8", "replace").rstrip("\r")
    clean = _ANSI.sub("", whole) if _HAS_ANSI.search(whole) else whole
    segments = [s for s in clean.split("\r") if s.strip()] or [""]
    process = None
    for index, segment in enumerate(segments):
        is_last = index == len(segments) - 1
        for peeled in _records(segment):
            process = peeled.process or process
            if (is_last or not _BAR.search(peeled.text)) and (peeled.text or len(segments) == 1):
                yield _line(peeled, process, whole, number, offset)


def _records(segment: str) -> Iterator[Peeled]:
    """The segment's message, or what was drawn without an end of line and the record glued behind it."""
    whole = peel(segment)
    for text in whole.text.splitlines() if whole.is_multiline else [whole.text]:
        peeled = peel(text, whole) if whole.is_multiline else whole
        cut = find_glued_record(peeled)
        if cut is None:
            yield peeled
        else:
            yield replace(peeled, text=peeled.text[:cut].rstrip())
            yield peel(peeled.text[cut:], peeled)


def _line(peeled: Peeled, process: str | None, raw: str, number: int, offset: int) -> Line:
    return Line(
        number=number,
        offset=offset,
        text=peeled.text,
        raw=raw,
        stamp=peeled.stamp,
        elapsed_s=peeled.elapsed_s,
        process=process,
        level=peeled.level,
    )
