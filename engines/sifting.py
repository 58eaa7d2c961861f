"""Finds the lines of a chunk that pass a filter, with Arrow's RE2, which takes a tenth of the time of Python's `re`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engines.line_filter import LineFilter, Routine

_LF = 10
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
Indices = np.ndarray[tuple[int], np.dtype[np.int64]]


def select_lines(
    data: bytes, begin: int, end: int, line_filter: LineFilter
) -> tuple[Iterator[tuple[int, int, int, bool]], int]:
    """Index, start, end and whether it is routine of each line that comes through, and how many lines there are.

    Of `data` from `begin` to `end`, behind an LF; starts and ends count from the start of `data`.
    """
    ends = np.flatnonzero(np.frombuffer(data, np.uint8, end - begin, begin) == _LF) + begin
    starts = np.concatenate(([begin], ends + 1)).astype(np.int32)
    lines = pa.Array.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(starts), pa.py_buffer(data)])
    left = np.arange(len(ends))
    if line_filter.noise:
        left, lines = _keep(left, lines, pc.invert(_match(lines, line_filter.noise)))
    if line_filter.needles:
        left, lines = _keep(left, lines, _match(lines, line_filter.needles))
    are_routine = _are_routine(lines, line_filter.routine) if line_filter.routine else np.zeros(len(left), bool)
    columns = (left, starts[left], ends[left], are_routine)
    return zip(*(column.tolist() for column in columns), strict=True), len(ends)


def _keep(left: Indices, lines: pa.BinaryArray, wanted: pa.BooleanArray) -> tuple[Indices, pa.BinaryArray]:
    return left[_bits(wanted)], lines.filter(wanted)


def _are_routine(lines: pa.BinaryArray, routine: Routine) -> Flags:
    alike = _match(lines, routine.like)
    flags = _bits(alike)
    if alike.true_count:
        flags[flags] = ~_bits(_match(lines.filter(alike), routine.unlike))
    return flags


def _match(lines: pa.BinaryArray, pattern: re.Pattern[bytes]) -> pa.BooleanArray:
    return pc.match_substring_regex(lines, re2_syntax(pattern))


def _bits(flags: pa.BooleanArray) -> Flags:
    """The flags for NumPy; Arrow's own to_numpy would import pandas, and so would pa.array and pa.repeat."""
    bits = np.frombuffer(flags.buffers()[1], np.uint8)
    return np.unpackbits(bits, count=len(flags), bitorder="little").view(np.bool_)


def re2_syntax(pattern: re.Pattern[bytes]) -> str:
    """The pattern for RE2: `^` and `$` are the ends of the line, and its LF is there."""
    return ("(?mi)" if pattern.flags & re.IGNORECASE else "(?m)") + pattern.pattern.decode("ascii")
