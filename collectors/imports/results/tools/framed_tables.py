"""Reads the tables in frames that tools print: of Rich, of Python's tabulate and their like."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

BARS = re.compile(r"[│┃|]")
EDGES = ("┏", "┡", "├", "└", "┌", "╞", "╘", "╒", "+")
STARTS = (*EDGES, "│", "┃", "|")
MAX_TABLE_LINES, MAX_LINE_CHARS = 400, 2_000


class FramedTable(NamedTuple):
    """A table in a frame: its first line, the line behind its last, its heads in lower case, and its rows."""

    start: int
    end: int
    heads: list[str]
    rows: list[list[str]]


def framed_tables(lines: Sequence[str]) -> Iterator[FramedTable]:
    """Yield the tables in frames among the lines."""
    index = 0
    while index < len(lines):
        end = index
        while end < min(len(lines), index + MAX_TABLE_LINES) and lines[end].lstrip()[:1] in STARTS:
            end += 1
        if end > index + 2:
            yield _table(lines, index, end)
        index = max(end, index + 1)


def _table(lines: Sequence[str], start: int, end: int) -> FramedTable:
    """Return a table; the lines above its second edge are heads if rows stand below that."""
    edges = [index for index in range(start, end) if lines[index].lstrip().startswith(EDGES)]
    first_edge_below = next((index for index in edges if index > start), end)
    is_headed = first_edge_below < end - 1
    head_lines = [_cells(lines[index]) for index in range(start, first_edge_below) if index not in edges]
    heads = [" ".join(filter(None, cells)).lower() for cells in zip(*head_lines, strict=False)] if is_headed else []
    first_row = first_edge_below if is_headed else start
    rows = [_cells(lines[index]) for index in range(first_row, end) if index not in edges]
    return FramedTable(start, end, heads, rows)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in BARS.split(line[:MAX_LINE_CHARS].strip())[1:-1]]
