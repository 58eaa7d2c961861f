"""Gives the numbers of a column the unit that another number of the column, or another column, states for all."""

from __future__ import annotations

import re
from collections.abc import Sequence

from collectors.imports.results.prose.heads import SETTING_HEAD, names_measurement, plain
from collectors.imports.results.prose.metric_names import metric_of
from collectors.imports.results.prose.number_text import TIMED, StatedNumber, read_cell
from collectors.imports.results.prose.rates_a_minute import with_units_of_rates
from collectors.imports.results.prose.stated_settings import ENGINE_HEAD
from collectors.imports.results.prose.units import implied_unit, unit_in, unit_of

SIBLING = re.compile(
    r"\d{1,6} (?P<word>[A-Za-z]{2,20}?)(?:y|ies|s)?|(?P<name>\w{1,20})=\d{1,6}(?: \([^()]{1,40}\))?"
)  # '4 replies', 'limit=2'
RUNS = re.compile(r"\d[\d.,]{0,12}(?: ?/ ?\d[\d.,]{0,12}){1,8}")
LEVEL_OF_ROW = re.compile(r"(?:c ?=? ?|[×x])?\d[\d.,]{0,12}[KM]?[×x]?(?: ?(?:tokens|tok|users))?", re.IGNORECASE)
UNIT_AT_END = re.compile(r"(?<=\d) ?(?:[a-zµ]{1,6}(?:/[a-z]{1,4})?|%)$", re.IGNORECASE)

_NUMBERS = re.compile(r"\d[\d.,]*[KM]?", re.IGNORECASE)
MOST_RATIO = 100  # of numbers with one unit: '950' beside '0.8 s' are milliseconds


def with_units_of_columns(heads: Sequence[str], rows: list[list[str]]) -> list[list[str]]:
    """Return the rows with the units that one number of a column, an engine's column or a sibling's states for all."""
    rows = with_units_of_rates(heads, rows)
    rows = _with_unit_of_siblings(heads, _with_unit_of_engines(heads, _with_units(heads, rows)))
    return _with_units_of_metrics(heads, rows)


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


def _with_units_of_metrics(heads: Sequence[str], rows: list[list[str]]) -> list[list[str]]:
    """Return the rows with a unit behind the plain numbers of a metric, if its other numbers agree on that unit.

    A metric is a column, or a row below columns that name none.
    """
    filled_rows = _with_units_in_columns(heads, rows)
    return filled_rows if any(map(names_measurement, heads[1:])) else _with_units_in_rows(heads, filled_rows)


def _with_units_in_columns(heads: Sequence[str], rows: list[list[str]]) -> list[list[str]]:
    """Return the rows with the units that columns state for their own plain numbers.

    A column whose numbers all have no unit has that of the columns whose heads differ from its own in their numbers:
    '30K prefill' and '146K prefill'.
    """
    filled_rows = [[*row] for row in rows]
    columns = [column for column, head in enumerate(heads) if column and _may_lack_unit(head)]
    cells_by_name: dict[str, list[str]] = {}
    for column in columns:
        cells_by_name.setdefault(_without_numbers(heads[column]), []).extend(_cells_of(rows, column))
    units = {name: _unit_of_metric(name, cells) for name, cells in cells_by_name.items()}
    sizes = {name: _sizes_of(cells) for name, cells in cells_by_name.items()}
    for column in columns:
        cells, name = _cells_of(rows, column), _without_numbers(heads[column])
        unit = _unit_of_metric(heads[column], cells) if any(map(_written_unit, cells)) else units[name]
        for row in filled_rows if unit else []:
            if column < len(row) and unit_in(row[0]) is None and not names_measurement(row[0]):
                row[column] = _with_unit(row[column], unit or "", sizes[name])
    return filled_rows


def _with_units_in_rows(heads: Sequence[str], rows: list[list[str]]) -> list[list[str]]:
    """Return the rows with the units that rows state for their own plain numbers."""
    is_open = [not SETTING_HEAD.fullmatch(plain(head)) and unit_in(head) is None for head in heads]
    filled_rows = [[*row] for row in rows]
    for row in filled_rows:
        unit = _unit_of_metric(row[0], row[1:]) if row and _may_lack_unit(row[0]) else None
        sizes = _sizes_of(row[1:]) if unit else (0.0, 0.0)
        for column in range(1, min(len(row), len(heads)) if unit else 1):
            row[column] = _with_unit(row[column], unit or "", sizes) if is_open[column] else row[column]
    return filled_rows


def _cells_of(rows: Sequence[Sequence[str]], column: int) -> list[str]:
    return [row[column] for row in rows if column < len(row)]


def _without_numbers(head: str) -> str:
    """Return a head that is equal for columns which differ in their numbers."""
    return _NUMBERS.sub("1", head)


def _may_lack_unit(name: str) -> bool:
    return unit_in(name) is None and implied_unit(name) is None and not SETTING_HEAD.fullmatch(plain(name))


def _unit_of_metric(name: str, cells: Sequence[str]) -> str | None:
    """Return the unit that the numbers of a metric with one agree on, as it is written; None without a metric."""
    written = [unit for cell in cells if (unit := _written_unit(cell))]
    units = {unit_of(unit) for unit in written}
    unit, _ = next(iter(units)) if len(units) == 1 else (None, 1.0)
    is_metric = unit in ("tok/s", "ms", "s") and (names_measurement(name) or metric_of(plain(name), unit) is not None)
    return written[0] if is_metric else None


def _written_unit(cell: str) -> str | None:
    """Return the unit of a number of speed or time, as its cell has it."""
    value = read_cell(cell)
    match = UNIT_AT_END.search(_number_part(cell)) if value and value.unit in TIMED else None
    return match[0].strip() if match else None


def _number_part(cell: str) -> str:
    return cell.replace("*", "").partition(" (")[0].strip("` ")


def _sizes_of(cells: Sequence[str]) -> tuple[float, float]:
    """Return the least and the greatest of the numbers that have a unit."""
    sizes = [value.low for cell in cells if (value := read_cell(cell)) and value.unit is not None]
    return (min(sizes), max(sizes)) if sizes else (0.0, 0.0)


def _with_unit(cell: str, unit: str, sizes: tuple[float, float]) -> str:
    """Return a plain number with a unit, if the numbers that have it are of its size; any other cell as it is."""
    value, (least, greatest) = read_cell(cell), sizes
    is_alike = value is not None and least / MOST_RATIO <= value.low <= greatest * MOST_RATIO
    if value is None or not _is_plain(value) or not is_alike:
        return cell
    number, bracket, remark = cell.replace("*", "").partition(" (")
    return f"{number} {unit}{bracket}{remark}"


def _is_plain(value: StatedNumber) -> bool:
    return value.unit is None and (not value.words or value.words.lstrip().startswith("("))
