"""Bytes of a log as they come -> `Line`s: cut at LF, numbered, everything around the message peeled off.

Only LF ends a line. Within one, CR redraws it: of a progress bar the last drawing counts, and a record
that another process wrote behind the bar is a line of its own with the same number and offset.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engines.base import Line
from engines.prefixes import Peeled, find_glued_record, peel, read_stamp

KEPT_BYTES = 1 << 16  # of a longer line the first and the last half of this are kept
_LF = 10
_HALF = KEPT_BYTES // 2
_SEAM = b" ... "
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][0-9A-B]|\x1b\][^\x07]*\x07|(?<!\w)\[(?:\d{1,3};)*\d{1,3}m")
_PLAIN = re.compile(
    rb"(?:\((\w+) pid=\d+\) )?(DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d-\d\d \d\d:\d\d:\d\d) \[[\w./]+:\d+\] "
    rb"((?!DEBUG|INFO|WARN|ERROR|CRIT|FATAL|TRACE|[IWEF]\d{4} )(?:[^\s\"'`\[{(<0-9\x1b][^\x1b\r\[]*)?)\r*"
)
_HAS_ANSI = re.compile(r"\x1b|\[(?:\d;)?0m")  # a paste may have lost the ESC of its codes
_BAR = re.compile(r"\d{1,3}%(?:\||\s+Completed\s*\||\s*\[)")


class LineSplitter:
    """Turns chunks into lines; the result does not depend on where the chunks were cut.

    With `needles`, only lines in which the pattern is found are given out, though all are counted:
    a grammar that needs one line in ten never pays for the other nine.
    """

    def __init__(self, needles: re.Pattern[bytes] | None = None) -> None:
        self._needles = needles and re2_syntax(needles)
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
            yield from self._complete_lines(data[start:end])
            start = end
        self._keep_partial(data[start:])

    def close(self) -> Iterator[Line]:
        """The line that has no LF yet, if there is one."""
        raw, size, offset = bytes(self._partial), self._partial_size, self.offset
        self._partial.clear()
        self._partial_size = 0
        self.offset += size
        if size and select_lines(raw + b"\n", self._needles)[0]:
            yield from read_lines(_shorten(raw, size), self._number, offset)

    def _complete_lines(self, data: bytes) -> Iterator[Line]:
        selected, count = select_lines(data, self._needles)
        for index, begin, stop in selected:
            raw = _shorten(data[begin:stop], stop - begin)
            yield from read_lines(raw, self._number + index, self.offset + begin)
        self._number += count
        self.offset += len(data)

    def _keep_partial(self, data: bytes) -> None:
        self._partial_size += len(data)
        self._partial += data
        if len(self._partial) > KEPT_BYTES:
            del self._partial[_HALF:-_HALF]


def select_lines(data: bytes, needles: str | None) -> tuple[list[tuple[int, int, int]], int]:
    """Index, start and end of each line that holds a needle, and how many lines there are.

    `data` ends with LF. Arrow's RE2 looks for all needles in one pass: Python's `re` takes ten times as long.
    """
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _LF)
    starts = np.concatenate(([0], ends + 1)).astype(np.int32)
    selected = np.arange(len(ends))
    if needles is not None:
        lines = pa.Array.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(starts), pa.py_buffer(data)])
        bitmap = np.frombuffer(pc.match_substring_regex(lines, needles).buffers()[1], np.uint8)
        selected = np.flatnonzero(np.unpackbits(bitmap, count=len(ends), bitorder="little"))  # to_numpy imports pandas
    return list(zip(selected.tolist(), starts[selected].tolist(), ends[selected].tolist(), strict=True)), len(ends)


def re2_syntax(needles: re.Pattern[bytes]) -> str:
    """The pattern for RE2, which has no look-around: `^` and `$` are the ends of the line."""
    return ("(?i)" if needles.flags & re.IGNORECASE else "") + needles.pattern.decode("ascii")


def _shorten(raw: bytes, size: int) -> bytes:
    """The line itself, or of a long one its two ends; `raw` may already be only those."""
    return raw if size <= KEPT_BYTES else raw[:_HALF] + _SEAM + raw[-_HALF:]


def read_lines(raw: bytes, number: int, offset: int) -> Iterator[Line]:
    """The line or lines that stand between two LFs; at least one, unless a bar is all there is before a CR."""
    plain = read_plain(raw, number, offset)
    return iter((plain,)) if plain is not None else _read_with_prefixes(raw, number, offset)


def _read_with_prefixes(raw: bytes, number: int, offset: int) -> Iterator[Line]:
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


def read_plain(raw: bytes, number: int, offset: int) -> Line | None:
    """The line with nothing but the commonest head before it, as `peel` would read it; None if there is more to it."""
    found = _PLAIN.fullmatch(raw)
    if found is None:
        return None
    process, level, stamp, text = found.groups()
    return Line(
        number,
        offset,
        text.decode("utf-8", "replace"),
        raw.decode("utf-8", "replace").rstrip("\r"),
        read_stamp(stamp.decode()),
        None,
        process.decode() if process else None,
        level.decode(),
    )


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
