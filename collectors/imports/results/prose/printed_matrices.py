"""Reads matrices of plain numbers below a title that states their unit: 'TTFT (ms)', levels, then rows by length."""

from __future__ import annotations

import re
from collections.abc import Sequence

from collectors.imports.results.prose.figure_marks import FIGURE
from collectors.imports.results.prose.stated_figures import COMPARED_HEAD
from collectors.imports.results.prose.stated_settings import ENGINE_HEAD
from collectors.imports.results.prose.tables import Table
from collectors.imports.results.prose.units import RATES, unit_in

_GAP = re.compile(r"\t| {2,200}")
_RULE = re.compile(r"\s{0,40}[-=─]{3,400}(?:\s+[-=─]{3,400}){0,40}\s{0,40}")
_NUMBER = re.compile(r"\d[\d,]{0,15}(?:\.\d{1,9})?|[-–—]|n/a|OOM", re.IGNORECASE)
_WORDS = re.compile(r"[A-Za-z][^|\t.!?]{0,118}[\w)]:?|#{1,6} [^|\t]{1,110}")
_HEAD = re.compile(r"[\w@=./:\\×-][\w @=./:\\×()-]{0,23}")
UNITS = (*RATES, "ms", "s")
MAX_LINE_CHARS, MAX_HEADS = 400, 16
LINES_OF_TITLE = 3  # above the heads
LEAST_HEADS, LEAST_ROWS = 2, 2


def read_printed_matrices(text: str) -> tuple[list[Table], str]:
    """Return the matrices, and the text with the lines of their heads and rows left empty."""
    lines, tables = text.splitlines(), []
    index = 1
    while index < len(lines) - LEAST_ROWS:
        heads = _heads(lines[index])
        title = _title_above(lines, index) if heads else ""
        first = index + 1 + bool(_RULE.fullmatch(lines[index + 1][:MAX_LINE_CHARS]))
        rows = _rows(lines[first:], heads) if title else []
        if len(rows) < LEAST_ROWS:
            index += 1
            continue
        end = first + len(rows)
        names = heads if len(heads) == len(rows[0]) else ["", *heads]
        tables.append(Table(index + 1, names, rows, title, row_lines=range(first + 1, end + 1)))
        lines[index:end] = [""] * (end - index)
        index = end
    return tables, "\n".join(lines)


def _heads(line: str) -> list[str]:
    """Return the heads of a line that are levels or arms, but for the first, without a unit; empty for others."""
    is_possible = 0 < len(line) <= MAX_LINE_CHARS and "|" not in line and not FIGURE.search(line)
    heads = [cell for cell in _GAP.split(line.strip()) if cell] if is_possible else []
    is_head = LEAST_HEADS <= len(heads) <= MAX_HEADS and len({*heads}) == len(heads)
    is_head = is_head and all(_HEAD.fullmatch(head) and unit_in(head) is None for head in heads)
    return heads if is_head and all(map(_names_arm, heads[1:])) else []


def _names_arm(head: str) -> bool:
    """Return whether a head is a level, a version, an engine or one of two that are compared, as 'price' is not."""
    is_compared = ENGINE_HEAD.fullmatch(head) or COMPARED_HEAD.fullmatch(head)
    return any(map(str.isdigit, head)) or is_compared is not None


def _title_above(lines: Sequence[str], index: int) -> str:
    """Return the line of words above the heads if it states a unit and no figure; rules and empty lines aside."""
    above = lines[max(0, index - LINES_OF_TITLE) : index][::-1]
    line = next((line.strip() for line in above if line.strip() and not _RULE.fullmatch(line[:MAX_LINE_CHARS])), "")
    is_title = _WORDS.fullmatch(line) is not None and unit_in(line) in UNITS and not FIGURE.search(line)
    return line.lstrip("# ").rstrip(":") if is_title else ""


def _rows(lines: Sequence[str], heads: Sequence[str]) -> list[list[str]]:
    """Return the rows that stand below each other: a name, and a number for each head or for each behind the first."""
    for width in (len(heads), len(heads) - 1):
        rows: list[list[str]] = []
        for line in lines:
            row = _row(line, width)
            if not row:
                break
            rows.append(row)
        if len(rows) >= LEAST_ROWS and width >= LEAST_HEADS:
            return rows
    return []


def _row(line: str, width: int) -> list[str]:
    cells = line.split() if len(line) <= MAX_LINE_CHARS and "|" not in line else []
    values, name = cells[-width:], cells[:-width]
    is_row = len(name) > 0 and all(map(_NUMBER.fullmatch, values)) and any(map(str.isdigit, "".join(values)))
    is_named = len(name) == 1 or (is_row and not _NUMBER.fullmatch(name[-1]))
    return [" ".join(name), *values] if is_row and is_named else []
