"""Selects the lines of a chunk that pass a filter, with Arrow's RE2, ten times as fast as Python's `re`."""

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
    """Return (index, start, end, is routine) of each line that passes, and the number of all lines.

    Reads `data` from `begin` to `end`, which is after an LF; starts and ends are offsets in `data`.
    """
    ends = np.flatnonzero(np.frombuffer(data, np.uint8, end - begin, begin) == _LF) + begin
    starts = np.concatenate(([begin], ends + 1)).astype(np.int32)
    lines = pa.Array.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(starts), pa.py_buffer(data)])
    selected = np.arange(len(ends))
    if line_filter.noise:
        selected, lines = _keep(selected, lines, pc.invert(_match(lines, line_filter.noise)))
    if line_filter.needles:
        selected, lines = _keep(selected, lines, _match(lines, line_filter.needles))
    are_routine = _are_routine(lines, line_filter.routine) if line_filter.routine else np.zeros(len(selected), bool)
    columns = (selected, starts[selected], ends[selected], are_routine)
    return zip(*(column.tolist() for column in columns), strict=True), len(ends)


def _keep(indices: Indices, lines: pa.BinaryArray, mask: pa.BooleanArray) -> tuple[Indices, pa.BinaryArray]:
    return indices[_bits(mask)], lines.filter(mask)


def _are_routine(lines: pa.BinaryArray, routine: Routine) -> Flags:
    matches = _match(lines, routine.like)
    flags = _bits(matches)
    if matches.true_count:
        flags[flags] = ~_bits(_match(lines.filter(matches), routine.unlike))
    return flags


def _match(lines: pa.BinaryArray, pattern: re.Pattern[bytes]) -> pa.BooleanArray:
    return pc.match_substring_regex(lines, re2_syntax(pattern))


def _bits(flags: pa.BooleanArray) -> Flags:
    """Return the flags as a NumPy array; Arrow's to_numpy, pa.array and pa.repeat would import pandas."""
    bits = np.frombuffer(flags.buffers()[1], np.uint8)
    return np.unpackbits(bits, count=len(flags), bitorder="little").view(np.bool_)


def re2_syntax(pattern: re.Pattern[bytes]) -> str:
    """Return the pattern for RE2, in which `^` and `$` match at line ends; the lines include their LF."""
    return ("(?mi)" if pattern.flags & re.IGNORECASE else "(?m)") + pattern.pattern.decode("ascii")
