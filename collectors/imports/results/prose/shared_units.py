"""Gives the numbers of a column the unit that another number of the column, or another column, states for all."""

from __future__ import annotations

import re
from collections.abc import Sequence

from collectors.imports.results.prose.heads import SETTING_HEAD, plain
from collectors.imports.results.prose.number_text import TIMED, read_cell
from collectors.imports.results.prose.rates_a_minute import with_units_of_rates
from collectors.imports.results.prose.stated_settings import ENGINE_HEAD
from collectors.imports.results.prose.units import unit_in

SIBLING = re.compile(
    r"\d{1,6} (?P<word>[A-Za-z]{2,20}?)(?:y|ies|s)?|(?P<name>\w{1,20})=\d{1,6}(?: \([^()]{1,40}\))?"
)  # '4 replies', 'limit=2'
RUNS = re.compile(r"\d[\d.,]{0,12}(?: ?/ ?\d[\d.,]{0,12}){1,8}")
LEVEL_OF_ROW = re.compile(r"(?:c ?=? ?|[×x])?\d[\d.,]{0,12}[KM]?[×x]?(?: ?(?:tokens|tok|users))?", re.IGNORECASE)
UNIT_AT_END = re.compile(r"(?<=\d) ?(?:[a-zµ]{1,6}(?:/[a-z]{1,4})?|%)$", re.IGNORECASE)


def with_units_of_columns(heads: Sequence[str], rows: list[list[str]]) -> list[list[str]]:
    """Return the rows with the units that one number of a column, an engine's column or a sibling's states for all."""
    rows = with_units_of_rates(heads, rows)
    return _with_unit_of_siblings(heads, _with_unit_of_engines(heads, _with_units(heads, rows)))


def _with_units(heads: Sequence[str], rows: list[list[str]]) -> list[list[str]]:
    """Return the rows with the unit of a column's first number behind its other numbers, if it alone has one.

    The rows are levels, such as '4k' or 'c=8': the unit of a metric is not that of the metrics below it.
    """
    if not all(LEVEL_OF_ROW.fullmatch(plain(row[0])) for row in rows):
        return rows
    filled_rows = [[*row] for row in rows]
    for column, head in enumerate(heads):
        numbers = [(row, value) for row in filled_rows if column < len(row) and (value := read_cell(row[column]))]
        units = [value.unit for _, value in numbers]
        is_first_alone = len(units) > 1 and units[0] in TIMED and not any(units[1:])
        if column and is_first_alone and unit_in(head) is None and not SETTING_HEAD.fullmatch(plain(head)):
            unit = UNIT_AT_END.search(numbers[0][0][column].replace("*", ""))
            for row, _ in numbers[1:] if unit else []:
                row[column] = f"{row[column]} {unit[0].strip()}" if unit else row[column]
    return filled_rows


def _with_unit_of_engines(heads: Sequence[str], rows: list[list[str]]) -> list[list[str]]:
    """Return the rows with the unit of one engine's numbers behind those of the other engines, if these have none.

    The engines are the columns, and one of them is known as such.
    """
    is_engine = [ENGINE_HEAD.fullmatch(plain(head)) is not None for head in heads]
    if not any(is_engine) or any(map(unit_in, heads)):
        return rows
    columns = [column for column, head in enumerate(heads) if column and not SETTING_HEAD.fullmatch(plain(head))]
    return _with_shared_unit(rows, columns, [column for column in columns if is_engine[column]])


def _with_unit_of_siblings(heads: Sequence[str], rows: list[list[str]]) -> list[list[str]]:
    """Return the rows with the unit of one column's numbers behind those of its siblings: '1 user', '4 users'."""
    if any(map(unit_in, heads)):
        return rows
    siblings: dict[str, list[int]] = {}
    for column, head in enumerate(heads):
        if column and (match := SIBLING.fullmatch(plain(head))):
            siblings.setdefault((match["word"] or match["name"]).lower(), []).append(column)
    for columns in siblings.values():
        rows = _with_shared_unit(rows, columns, columns)
    return rows


def _with_shared_unit(rows: list[list[str]], columns: Sequence[int], open_columns: Sequence[int]) -> list[list[str]]:
    """Return the rows with the unit that one of some columns states behind the plain numbers of others of them."""
    cells = [(row, column, read_cell(row[column])) for row in rows for column in columns if column < len(row)]
    numbers = [(row, column, value) for row, column, value in cells if value]
    with_unit = [(row, column) for row, column, value in numbers if value.unit in TIMED]
    is_of_one = len({column for _, column in with_unit}) == 1
    unit = UNIT_AT_END.search(with_unit[0][0][with_unit[0][1]].replace("*", "")) if is_of_one else None
    if unit is None or any(value.unit not in (None, *TIMED) for _, _, value in numbers):
        return rows
    filled_rows = [[*row] for row in rows]
    for row in filled_rows:
        for column in open_columns:
            value = read_cell(row[column]) if column < len(row) else None
            if (value and value.unit is None) or (column < len(row) and RUNS.fullmatch(row[column])):
                row[column] = f"{row[column]} {unit[0].strip()}"
    return filled_rows
