"""Reads files of separated values: with any separator, titles and remarks above, decimal commas."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import NamedTuple

from collectors.imports.results.prose.heads import METRIC_HEAD, with_units_below
from collectors.imports.results.source import HEAD_BYTES

NAME = re.compile(r"[A-Za-z#%][\w .#%/()@-]{0,60}|[A-Za-z]\w{0,40}:[\w:]{1,60}")
VARIABLE = re.compile(r"[A-Za-z][\w.%/()-]{0,60}")  # between blanks
INDEX_NAMES = ("", "Unnamed: 0")  # of a DataFrame's rows
INDEX = "index"
REMARK = ("#", "//")
SEPARATORS = ",\t;| "
MOST_LINES_ABOVE, MAX_LINE_CHARS, MAX_NAME_CHARS, MAX_TITLE_CHARS = 12, 20_000, 60, 80
MOST_LINES_OF_ROW = 100  # a cell in quotes may have several
RULE = re.compile(r"\s{0,40}[-=─]{3,400}[\s=─-]{0,400}")
STATEMENT = re.compile(r"[\s#/]{0,9}(?P<name>[A-Za-z][\w .-]{0,40}?)\s{0,3}[:=]\s{0,9}(?P<value>\S.{0,200})")
DECIMAL_COMMA = re.compile(r"-?\d{1,15},\d{1,9}")
DECIMAL_POINT = re.compile(r"-?\d{1,15}\.\d{1,9}(?:[eE][-+]?\d{1,3})?")


class SeparatedValues(NamedTuple):
    """Head and rows of a file; `line`: that of the head, from 1; `settings`: what the lines above it state."""

    line: int
    heads: list[str]
    rows: list[list[str]]
    settings: dict[str, str]


def values_of(text: str) -> SeparatedValues | None:
    """Return the head and the rows of a text that is nothing but separated values; None for any other.

    The rows of CSV, whose head is the first line, may be shorter or longer than it.
    """
    lines = [line.rstrip(" ") for line in text.removeprefix("\ufeff").splitlines()]
    start = _line_of_head(lines)
    if start is None or not all(map(_may_stand_above, lines[:start])):
        return None
    lines[start] = _head_behind_mark(lines[start])
    separator = _separator_of(lines, start) or ","
    is_csv = separator == "," and not any(lines[:start])
    rows = [
        [cell.strip() for cell in row] for row in _rows(lines[start:], separator)
        if any(map(str.strip, row)) and not _is_aside(row[0])
    ]  # fmt: skip
    whole_rows = rows[:-1] if len(text) >= HEAD_BYTES else rows  # the first bytes of a file end within a row
    is_ragged = not is_csv and any(len(row) != len(rows[0]) for row in whole_rows)
    if is_ragged or rows[0] in rows[1:]:
        return None  # other words, or several tables
    heads = [INDEX if name in INDEX_NAMES and not number else name for number, name in enumerate(rows[0])]
    if named_heads := with_units_below(heads, rows[1]) if len(rows) > 1 else None:
        heads, rows = named_heads, [rows[0], *rows[2:]]
    if heads[0] == INDEX and all(row[0] == str(number) for number, row in enumerate(rows[1:])):
        heads[0] = ""
    rows = rows[1:] if separator == "," else _with_decimal_points(rows[1:])
    return SeparatedValues(start + 1, heads, rows, _settings_in(lines[:start]))


def _line_of_head(lines: Sequence[str]) -> int | None:
    """Return the index of the line with the names, which may stand behind a mark, as NumPy writes it."""
    first_lines = range(min(MOST_LINES_ABOVE, len(lines)))
    start = next((at for at in first_lines if not _is_aside(lines[at]) and _separator_of(lines, at)), None)
    if start is None and lines and _separator_of([_head_behind_mark(lines[0]), *lines[1:4]], 0):
        return 0
    return start


def _head_behind_mark(line: str) -> str:
    return line.lstrip("#/ ") if line.startswith(("# ", "//")) else line


def _may_stand_above(line: str) -> bool:
    """Return whether a line above the head is a remark or a short title, and no sentence of a text."""
    title = line.strip()
    is_title = (
        len(title) <= MAX_TITLE_CHARS and not title.startswith(("<", "```", "|")) and not title.endswith((".", ":"))
    )
    return _is_aside(line) or is_title


def _rows(lines: Sequence[str], separator: str) -> list[list[str]]:
    return list(csv.reader(lines, delimiter=separator, skipinitialspace=True))


def _is_aside(line: str) -> bool:
    """Return whether a line is a remark or a rule, and none of the values."""
    return line.lstrip().startswith(REMARK) or RULE.fullmatch(line[:MAX_LINE_CHARS]) is not None


def _separator_of(lines: Sequence[str], at: int) -> str | None:
    """Return what separates the names in a line, if it is a head with a row below it."""
    if len(lines[at]) > MAX_LINE_CHARS or lines[at].lstrip().startswith("|"):
        return None
    for separator in SEPARATORS:
        if separator not in lines[at].strip():
            continue
        names = (_rows(lines[at : at + 1], separator) or [[]])[0]
        below = csv.reader(lines[at + 1 : at + MOST_LINES_OF_ROW], delimiter=separator, skipinitialspace=True)
        cells = next((row for row in below if any(row) and not _is_aside(row[0])), [])
        if len(names) > 1 + (separator == " ") and len(cells) >= len(names) and _are_names(names, separator):
            return separator
    return None


def _are_names(cells: Sequence[str], separator: str) -> bool:
    """Return whether cells are names; those of arms beside 'metric' may be any."""
    names = [cell.strip() for cell in cells]
    if METRIC_HEAD.fullmatch(names[0]):
        return all(0 < len(name) <= MAX_NAME_CHARS for name in names)
    pattern = VARIABLE if separator == " " else NAME
    return all(map(pattern.fullmatch, names[names[0] in INDEX_NAMES :]))


def _with_decimal_points(rows: list[list[str]]) -> list[list[str]]:
    """Return rows with '41.5' for '41,5', if no other cell has a decimal point."""
    if any(DECIMAL_POINT.fullmatch(cell) for row in rows for cell in row):
        return rows
    return [[cell.replace(",", ".") if DECIMAL_COMMA.fullmatch(cell) else cell for cell in row] for row in rows]


def _settings_in(lines: Sequence[str]) -> dict[str, str]:
    """Return what lines above a head state, '# gpu: H100', and their first other words as the title."""
    matches = [match for line in lines if (match := STATEMENT.fullmatch(line.rstrip(",; \t")))]
    titles = [line.strip("#/,;=- \t") for line in lines if not STATEMENT.fullmatch(line.rstrip(",; \t"))]
    title = next(filter(None, titles), None)
    statements = {match["name"]: match["value"].strip() for match in matches}
    return ({"title": title} if title else {}) | statements
