"""Reads tables of which a copied page left a cell and its bar on each line: 'TTFT (ms) |' above '81.5 |'."""

from __future__ import annotations

import re
from collections.abc import Sequence

from collectors.imports.results.prose.tables import RULE, Table, cells_of

MIN_COLUMNS, MAX_COLUMNS = 2, 40
_CELL = re.compile(r"[^|\n]{0,80}\|\s{0,8}")


def read_split_tables(text: str) -> tuple[list[Table], str]:
    """Return the tables, and the text with their lines left empty.

    Above a rule of some columns stand as many lines of one cell, the heads; the rows below it have as many, too.
    """
    lines, tables = text.splitlines(), []
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
            title = lines[start - 1].strip()[:200] if start and "|" not in lines[start - 1] else ""
            row_lines = range(index + 2, end + 1, columns)
            tables.append(Table(start + 1, _cells(lines[start:index]), rows, title, row_lines=row_lines))
            lines[start:end] = [""] * (end - start)
    return tables, "\n".join(lines)


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
    return [line.strip().removesuffix("|").strip() for line in lines]
