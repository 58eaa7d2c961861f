"""Reads tables whose cells a copy put on one line, if nothing but names and as many numbers follows their heads.

'Model TTFT (ms) TPOT (ms) A-7B 81.5 12.5 B-8B 95.5 14.5'.
"""

from __future__ import annotations

import re

from collectors.imports.results.prose.tables import Table
from collectors.imports.results.prose.units import unit_in

_HEAD = re.compile(r"\s*(?P<head>[^()]{1,60}\([^()\d]{1,20}\))")
_NUMBER = re.compile(r"[~≈]?\d[\d,]{0,15}(?:\.\d{1,9})?")
_NO_VALUE = ("-", "–", "—", "n/a", "N/A")
MAX_CHARS, MAX_NAME_WORDS = 8_000, 8
LEAST_HEADS, LEAST_ROWS = 2, 2


def read_run_together_tables(text: str) -> tuple[list[Table], str]:
    """Return such tables, and the text with their lines left empty."""
    lines, tables = text.splitlines(), []
    for index, line in enumerate(lines):
        if line.count("(") < LEAST_HEADS or "|" in line or len(line) > MAX_CHARS:
            continue
        heads, rest = _heads(line)
        rows = _rows(rest, len(heads)) if len(heads) >= LEAST_HEADS else []
        if len(rows) >= LEAST_ROWS:
            tables.append(Table(index + 1, ["", *heads], rows, row_lines=[index + 1] * len(rows)))
            lines[index] = ""
    return tables, "\n".join(lines)


def _heads(line: str) -> tuple[list[str], str]:
    """Return the heads with units that a line begins with, the first without the word before it, and what follows."""
    heads: list[str] = []
    end = 0
    while (match := _HEAD.match(line, end)) and unit_in(match["head"]) and not _has_number(match["head"]):
        heads.append(match["head"].strip())
        end = match.end()
    if len(heads) < LEAST_HEADS:
        return [], line
    words, count = heads[0].split(), len(heads[1].split())
    return ([" ".join(words[-count:]), *heads[1:]], line[end:]) if len(words) > count else ([], line)


def _has_number(head: str) -> bool:
    return any(map(_NUMBER.fullmatch, head.split()))


def _rows(text: str, width: int) -> list[list[str]]:
    """Return rows of a name and as many numbers as there are heads; empty if anything else is in the text."""
    rows: list[list[str]] = []
    name: list[str] = []
    values: list[str] = []
    for word in text.split():
        is_value = _NUMBER.fullmatch(word) is not None or word in _NO_VALUE
        if is_value and name:
            values.append(word)
        elif is_value or values:
            return []  # a number without a name before it, or a row with fewer numbers
        else:
            name.append(word)
        if len(values) == width:
            rows.append([" ".join(name), *values])
            name, values = [], []
    is_whole = not name and all(len(row[0].split()) <= MAX_NAME_WORDS for row in rows)
    return rows if is_whole else []
