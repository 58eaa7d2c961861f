"""Finds the unit of a table without any in the words around it, if they state one of its cells; notes unread tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from collectors.imports.results.prose.figure_marks import FIGURE
from collectors.imports.results.prose.heads import LENGTH_HEAD, SETTING_HEAD, names_latency, plain
from collectors.imports.results.prose.metric_names import ACCURACY
from collectors.imports.results.prose.number_text import NUMBER, parse_number, read_cell, states_figure
from collectors.imports.results.prose.repeated_values import rounds_to, significant_digits
from collectors.imports.results.prose.stated_figures import COMPARED_HEAD, LEVEL_HEAD
from collectors.imports.results.prose.stated_settings import ENGINE_HEAD
from collectors.imports.results.prose.tables import Table
from collectors.imports.results.prose.units import implied_unit, may_have_figure, unit_in

_NUMBER = re.compile(NUMBER, re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z][\w.-]*")
_DIGITS = re.compile(r"\d+")
_OF_SETTINGS = re.compile(
    r"(?:(?:server|model|engine|load|hardware) )?(?:settings?|param(?:eter)?s?|flags?|options?|config(?:uration)?"
    r"|arg(?:ument)?s?|variables?|fields?|components?|specs?|versions?|packages?)",
    re.IGNORECASE,
)
UNITS = ("tok/s", "ms")
MAX_LINE_CHARS, MAX_LINES, MAX_WORDS_CHARS = 400, 5_000, 80
MOST_FIGURES, MOST_ROWS = 200, 200
MOST_TABLES, MOST_HEADS, MAX_HEAD_CHARS = 6, 4, 40
LEAST_DIGITS, LEAST_LETTERS, LEAST_CELLS, MANY_CELLS = 2, 4, 2, 4


class StatedUnit(NamedTuple):
    """A figure of the text with its unit, and the words of its line."""

    low: float
    is_approximate: bool
    unit: str
    words: str


def units_in_text(text: str) -> list[StatedUnit]:
    """Return the speeds and latencies that the lines of a text state, tables aside."""
    lines = [line.strip() for line in text.splitlines()[:MAX_LINES] if len(line) <= MAX_LINE_CHARS]
    figures = (
        StatedUnit(value.low, value.is_approximate, value.unit, line.lstrip("#*-> ")[:MAX_LINE_CHARS])
        for line in lines if line.count("|") < 2 and may_have_figure(line)
        for match in _NUMBER.finditer(line) if (value := parse_number(match)).unit in UNITS
    )  # fmt: skip
    return list(islice(figures, MOST_FIGURES))


def with_unit_of_text(table: Table, figures: Iterable[StatedUnit]) -> tuple[Table, str | None]:
    """Return a table with the unit of a figure of the text that states one of its cells, and a note; else as it is.

    'At c8 it gives ~240 tok/s' states a cell 242.0 of a row 'c8'; only the rows that are named like it have its unit.
    """
    if len(table.rows) > MOST_ROWS or _states_unit(table):
        return table, None
    proofs = [
        (figure, row_number)
        for figure in figures for row_number, row in enumerate(table.rows)
        if _names_row(figure, row[0]) and any(_rounds(figure, cell) for cell in _plain_cells(table, row))
    ]  # fmt: skip
    if len({figure.unit for figure, _ in proofs}) != 1:
        return table, None
    figure, row_number = proofs[0]
    shape = _shape(table.rows[row_number][0])
    is_of_levels = all(_names_arm(head) for head in table.heads[1:])  # then all its numbers are of one kind
    rows = [
        [row[0], *(f"{plain(cell)} {figure.unit}" if _is_plain(table, column, cell, row[0]) else cell
                   for column, cell in enumerate(row[1:], 1))]
        if row and (is_of_levels or _shape(row[0]) == shape) else row
        for row in table.rows
    ]  # fmt: skip
    is_of_some = any(row is own_row and _plain_cells(table, row) for row, own_row in zip(rows, table.rows, strict=True))
    some = f" for the rows that begin like {plain(table.rows[row_number][0])!r}, and no others" if is_of_some else ""
    words = figure.words[:MAX_WORDS_CHARS]
    note = f"The table at line {table.line} states no unit: {figure.unit} is that of “{words}”{some}."
    return table._replace(rows=rows), note


def _names_arm(head: str) -> bool:
    return any(pattern.fullmatch(plain(head)) for pattern in (LEVEL_HEAD, ENGINE_HEAD, COMPARED_HEAD))


def has_unread_numbers(table: Table) -> bool:
    """Return whether a table without a unit, of which nothing was read, has numbers that may be results."""
    is_of_settings = bool(table.heads) and _OF_SETTINGS.fullmatch(plain(table.heads[0])) is not None
    cells = [cell for row in table.rows for cell in _plain_cells(table, row)]
    has_decimals = sum("." in cell for cell in cells) >= LEAST_CELLS
    return not is_of_settings and not _states_unit(table) and (has_decimals or len(cells) >= MANY_CELLS)


def unread_tables_note(tables: Sequence[Table]) -> str:
    """Return one sentence on the tables that were not read."""
    parts = []
    for table in tables[:MOST_TABLES]:
        heads = [repr(plain(head)[:MAX_HEAD_CHARS]) for head in table.heads if head][:MOST_HEADS]
        parts.append(f"line {table.line} ({', '.join(heads)})")
    others = f" and {len(tables) - MOST_TABLES} more" if len(tables) > MOST_TABLES else ""
    return f"Left out, since they state no unit, were the numbers of the tables at {', '.join(parts)}{others}."


def _states_unit(table: Table) -> bool:
    title = "" if states_figure(table.title) else table.title
    names = (*table.heads, *(row[0] for row in table.rows if row), title)
    has_figure = any(FIGURE.search(cell) for row in table.rows for cell in row)
    return has_figure or any(unit_in(name) or implied_unit(name) for name in names)


def _plain_cells(table: Table, row: Sequence[str]) -> list[str]:
    return [plain(cell) for column, cell in enumerate(row[1:], 1) if _is_plain(table, column, cell, row[0])]


def _is_plain(table: Table, column: int, cell: str, label: str) -> bool:
    """Return whether a cell is a number alone, and no latency, length, score or setting."""
    head = plain(table.heads[column]) if column < len(table.heads) else ""
    is_other = SETTING_HEAD.fullmatch(head) or LENGTH_HEAD.fullmatch(head) or names_latency(head)
    is_score = names_latency(label) or ACCURACY.search(f"{head} {label}") is not None
    value = None if is_other or is_score else read_cell(cell)
    return value is not None and value.unit is None and not value.words and value.high is None


def _names_row(figure: StatedUnit, label: str) -> bool:
    """Return whether the line of a figure has the word that a row begins with: 'C1' of 'C1 greedy'."""
    match = _WORD.search(plain(label))
    return (
        match is not None and re.search(rf"(?<!\w){re.escape(match[0])}(?!\w)", figure.words, re.IGNORECASE) is not None
    )


def _rounds(figure: StatedUnit, cell: str) -> bool:
    """Return whether a figure is a cell with fewer digits; a single digit counts if it is called approximate."""
    value = read_cell(cell)
    is_possible = significant_digits(figure.low) >= LEAST_DIGITS or figure.is_approximate
    return is_possible and value is not None and rounds_to(value.low, figure.low)


def _shape(label: str) -> str:
    """Return the first word of a label without its digits."""
    match = _WORD.search(plain(label))
    return _DIGITS.sub("#", match[0]).lower() if match else ""
