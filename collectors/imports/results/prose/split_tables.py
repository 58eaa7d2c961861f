"""Reads tables of which a copied page left a cell and its bar on each line: 'TTFT (ms) |' above '81.5 |'."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from collectors.imports.results.prose.tables import RULE, Table, cells_of

MIN_COLUMNS, MAX_COLUMNS = 2, 40
_CELL = re.compile(r"[^|\n]{0,80}\|\s{0,8}")
_RULE_CELL = re.compile(r":?-{1,200}:?")


class _Break(NamedTuple):
    """Place where the lines of rows were broken: the forms of a row's first line, of its others and of its last."""

    first: re.Pattern[str]
    other: re.Pattern[str]
    last: re.Pattern[str]


_BREAKS = (
    _Break(  # '| vLLM |' above '43.1 |'
        re.compile(r"\s{0,8}\|[^|\n]{0,120}\|\s{0,8}"),
        re.compile(r"[^|\n]{0,120}\|\s{0,8}"),
        re.compile(r"[^|\n]{0,120}\|\s{0,8}"),
    ),
    _Break(  # '| vLLM' above '| 43.1 |'
        re.compile(r"\s{0,8}\|[^|\n]{0,120}"),
        re.compile(r"\s{0,8}\|[^|\n]{0,120}"),
        re.compile(r"\s{0,8}\|[^|\n]{0,120}\|\s{0,8}"),
    ),
)


def read_split_tables(text: str) -> tuple[list[Table], str]:
    """Return the tables, and the text with their lines left empty.

    Above a rule of some columns stand as many lines of one cell, the heads; the rows below it have as many, too.
    Without a rule the bar at the beginning or the end of each row tells where it begins.
    """
    lines = text.splitlines()
    tables = [*_tables_below_heads(lines), *(table for form in _BREAKS for table in _tables_of_rows(lines, form))]
    return tables, "\n".join(lines)


def _tables_below_heads(lines: list[str]) -> list[Table]:
    """Return the tables with a rule of one line, and leave their lines empty."""
    tables = []
    for index, line in enumerate(lines):
        columns = _columns_of_rule(line)
        start = index - columns
        if not MIN_COLUMNS <= columns <= MAX_COLUMNS or start < 0 or not all(map(_is_cell, lines[start:index])):
            continue
        end = index + 1
        while _is_row(lines, end, columns):
            end += columns
        rows = [_cells(lines[at : at + columns]) for at in range(index + 1, end, columns)]
        if rows:
            row_lines = range(index + 2, end + 1, columns)
            title = _title_above(lines, start)
            tables.append(Table(start + 1, _cells(lines[start:index]), rows, title, row_lines=row_lines))
            lines[start:end] = [""] * (end - start)
    return tables


def _tables_of_rows(lines: list[str], form: _Break) -> list[Table]:
    """Return the tables whose rows were broken in one way, and leave their lines empty."""
    tables, start = [], 0
    while start < len(lines):
        end = _end_of_row(lines, start, form)
        columns = end - start
        row_lines = [start]
        while columns and _end_of_row(lines, end, form) == end + columns:
            row_lines.append(end)
            end += columns
        if columns >= MIN_COLUMNS and len(row_lines) > 1:
            heads, *rows = [_cells(lines[at : at + columns]) for at in row_lines]
            numbered = [(at + 1, row) for at, row in zip(row_lines[1:], rows, strict=True) if not _is_rule(row)]
            title, numbers = _title_above(lines, start), [number for number, _ in numbered]
            tables.append(Table(start + 1, heads, [row for _, row in numbered], title, row_lines=numbers))
            lines[start:end] = [""] * (end - start)
        start = max(end, start + 1)
    return tables


def _end_of_row(lines: Sequence[str], start: int, form: _Break) -> int:
    """Return the index behind the last line of the row that begins at a line; `start` if none does."""
    if start >= len(lines) or not form.first.fullmatch(lines[start]):
        return start
    end = start + 1
    while end < min(len(lines), start + MAX_COLUMNS) and form.other.fullmatch(lines[end]):
        end += 1
    is_closed = form.last.fullmatch(lines[end - 1]) is not None
    if not is_closed and end < len(lines) and form.last.fullmatch(lines[end]):
        return end + 1
    return end if is_closed else start


def _is_rule(row: Sequence[str]) -> bool:
    return all(map(_RULE_CELL.fullmatch, row))


def _title_above(lines: Sequence[str], start: int) -> str:
    return lines[start - 1].strip()[:200] if start and "|" not in lines[start - 1] else ""


def _columns_of_rule(line: str) -> int:
    return len(cells_of(line)) if "-|-" in line and len(line) < 400 and RULE.fullmatch(line) else 0


def _is_row(lines: Sequence[str], start: int, columns: int) -> bool:
    """Return whether the cells of a row begin at a line; those above a rule are the heads of another table."""
    end = start + columns
    is_head = end < len(lines) and _columns_of_rule(lines[end]) > 0
    return end <= len(lines) and not is_head and all(map(_is_cell, lines[start:end]))


def _is_cell(line: str) -> bool:
    return _CELL.fullmatch(line) is not None


def _cells(lines: Sequence[str]) -> list[str]:
    return [line.strip().removeprefix("|").removesuffix("|").strip() for line in lines]
