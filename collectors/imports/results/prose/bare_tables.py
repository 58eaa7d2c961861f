"""Reads tables whose cells stand apart by single blanks: 'Test GPU Mean latency (ms) P99 latency (ms)'."""

from __future__ import annotations

import re

from collectors.imports.results.prose.tables import Table
from collectors.imports.results.prose.units import unit_in

MAX_LINE_CHARS = 400
_HEAD = re.compile(r"[^()]{1,120}\([^()\d]{1,20}\)(?=\s|$)")
_SENTENCE = re.compile(r"\b(?:we|I|and|of|the|is|are|was|were|with)\b")
_NUMBER = re.compile(r"[~≈]?\d[\d,]{0,15}(?:\.\d{1,9})?")


def read_bare_tables(text: str) -> tuple[list[Table], str]:
    """Return the tables whose heads end with units in brackets, and the text with their lines left empty.

    A row is a name and then a number for each of these heads.
    """
    lines, tables = text.splitlines(), []
    index = 0
    while index < len(lines):
        heads, end = _heads(lines[index]), index + 1
        rows: list[list[str]] = []
        while heads and end < len(lines) and (row := _row(lines[end], len(heads))):
            rows.append(row)
            end += 1
        if rows:
            # The rows of other tables stand two lines below their heads.
            tables.append(Table(index, ["", *heads], rows))
            lines[index:end] = [""] * (end - index)
        index = end
    return tables, "\n".join(lines)


def _heads(line: str) -> list[str]:
    """Return the heads of a line that is nothing but heads with units; the first without the names before it."""
    is_possible = line.rstrip().endswith(")") and len(line) <= MAX_LINE_CHARS and not set("|:\t") & set(line)
    if not is_possible or _SENTENCE.search(line):
        return []
    parts = [match[0].strip() for match in _HEAD.finditer(line)]
    is_head = bool(parts) and len(" ".join(parts)) == len(" ".join(line.split())) and all(map(unit_in, parts))
    if not is_head:
        return []
    words = parts[0].split()
    count = len(parts[1].split()) if len(parts) > 1 else min(len(words) - 1, 2)
    return [" ".join(words[-count:]), *parts[1:]] if len(words) > count else []


def _row(line: str, width: int) -> list[str]:
    """Return a row's name and its numbers; empty for any other line."""
    cells = line.split() if len(line) <= MAX_LINE_CHARS and "|" not in line else []
    values = cells[-width:]
    is_row = len(cells) > width and all(map(_NUMBER.fullmatch, values)) and not _NUMBER.fullmatch(cells[-width - 1])
    return [" ".join(cells[:-width]), *values] if is_row else []
