"""Adds the figures of tables to a load: a point for each cell, with the levels and lengths that its row states."""

from __future__ import annotations

import re
from collections.abc import Sequence

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint
from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.metric_names import CONCURRENCY_HEAD, DERIVED, OUTPUT_HEAD, PROMPT_HEAD, metric_of
from collectors.imports.results.prose.number_text import read_cell, read_parts, read_statistics
from collectors.imports.results.prose.stated_figures import MAX_NAME_CHARS, add_failure, add_number, unit_of_names
from collectors.imports.results.prose.tables import Table

PASSED, NOT_PASSED = "✅", "❌"
AT_ONCE = re.compile(
    r"c=(\d{1,6})|[(@]c(\d{1,6})\b|(\d{1,6}) \(?(?:concurrent|serial|sequential|parallel)\b", re.IGNORECASE
)
FAILED = re.compile(r"(?:FAIL(?:ED)?|OOM|ERROR|TIMEOUT|CRASH(?:ED)?|DNF)\b.{0,60}", re.IGNORECASE)
NO_VALUE = ("", "-", "–", "—", "n/a", "N/A")
SETTINGS = re.compile(r"(?:^|\s)--\w|\w=\w")
LEVEL = re.compile(r"(?:[×x]|c ?=? ?)?(?P<level>\d{1,9})[×x]?", re.IGNORECASE)


def add_table(load: LoadBuilder, table: Table) -> None:
    title = "" if SETTINGS.search(table.title) else table.title  # a line of settings names no metric
    for row_number, row in enumerate(table.rows):
        line = table.line_of(row_number)
        if any(cell.startswith((PASSED, NOT_PASSED)) for cell in row):
            _add_check(load, table.heads, row)
            continue
        label = row[0]
        for column, cell in enumerate(row[1:], 1):
            column_name = table.heads[column] if column < len(table.heads) else f"column {column + 1}"
            if DERIVED.search(f"{label} {column_name}"):
                continue
            value = read_cell(cell)
            point = _point(table, row, column, line)
            if value:
                add_number(load, value, point, label, column_name, title)
            elif FAILED.fullmatch(cell.strip("*`")):
                add_failure(load, cell.strip("*`"), point, label, column_name)
            statistics = read_statistics(cell) if value is None else []
            for statistic, stated_value in statistics:
                add_number(load, stated_value, point, label, column_name, title, statistic)
            for name, stated_value in read_parts(cell) if value is None and not statistics else []:
                part = point._replace(name=f"{point.name}, {name}") if name else point
                is_metric = metric_of(name, stated_value.unit) is not None  # then no other word of the row changes it
                words = ("", name) if is_metric else (label, f"{name} {column_name}")
                add_number(load, stated_value, part, *words, title)


def told_apart(tables: Sequence[Table]) -> Sequence[Table]:
    """Return the tables; their headings are left out if there is only one, which tells nothing apart."""
    if len({table.heading for table in tables}) > 1:
        return tables
    return [table._replace(heading="") for table in tables]


def _add_check(load: LoadBuilder, heads: Sequence[str], row: Sequence[str]) -> None:
    cells = dict(zip((head.lower() for head in heads), row, strict=False))
    result = next(cell for cell in row if cell.startswith((PASSED, NOT_PASSED)))
    is_pass = result.startswith(PASSED)
    mode = "streaming" if cells.get("streaming", "").lower() == "yes" else "whole" if "streaming" in cells else STATED
    load.check(suite="as published", case_name=row[0][:MAX_NAME_CHARS], mode=mode, is_pass=is_pass,
               why=None if is_pass else result[1:].strip() or "not told",
               exchange={"said": result[1:].strip()[:500]})  # fmt: skip


def _name(table: Table, row: Sequence[str], column: int, line: int) -> str:
    """Return a row's texts and its column name, with the line, since several tables may have the same names."""
    heads = table.heads
    texts = [cell for n, cell in enumerate(row) if n != column and cell and (n == 0 or _is_name(table, row, n))]
    column_name = heads[column] if column < len(heads) else ""
    if column_name and heads.count(column_name) > 1:
        column_name = f"{column_name} (column {column + 1})"
    row_name = ", ".join(texts)[: MAX_NAME_CHARS // 2] + (
        f": {column_name[: MAX_NAME_CHARS // 2]}" if column_name and column_name != "Value" else ""
    )
    return f"{row_name} (line {line})"


def _is_name(table: Table, row: Sequence[str], column: int) -> bool:
    """Return whether a cell names the measurement: it is neither a number with a unit nor a derived value."""
    value = read_cell(row[column])
    column_name = table.heads[column] if column < len(table.heads) else ""
    cell = row[column]
    has_several = bool(read_statistics(cell)) or (value is None and bool(read_parts(cell)))
    is_other = cell in NO_VALUE or FAILED.fullmatch(cell.strip("*`")) is not None or has_several
    has_metric = value is not None and (
        value.unit or unit_of_names(column_name, row[0], table.title) or metric_of(f"{column_name} {row[0]}", None)
    )
    return not (DERIVED.search(column_name) or is_other or has_metric)


def _point(table: Table, row: Sequence[str], column: int, line: int) -> MeasurementPoint:
    """Return the point of a cell: its names, and the level and lengths that other columns of its row state."""
    column_name = table.heads[column] if column < len(table.heads) else ""
    lengths = [_level(table, row, head) for head in (PROMPT_HEAD, OUTPUT_HEAD)]
    heading = f"{table.heading}: " if table.heading else ""
    name = f"{heading}{_name(table, row, column, line)}"
    return MeasurementPoint(name, _at_once(table, row, column_name), *lengths)


def _at_once(table: Table, row: Sequence[str], column_name: str) -> int | None:
    level = _level(table, row, CONCURRENCY_HEAD)
    match = AT_ONCE.search(f"{row[0]} {column_name}")
    return level if level is not None else int(match[1] or match[2] or match[3]) if match else None


def _level(table: Table, row: Sequence[str], head_of_level: re.Pattern[str]) -> int | None:
    """Return the number in the column with such a head: '4', '×4', '**c=4**'."""
    columns = [index for index, head in enumerate(table.heads) if head_of_level.fullmatch(head.strip("*` "))]
    cell = row[columns[0]].strip("*` ") if columns and columns[0] < len(row) else ""
    match = LEVEL.fullmatch(cell)
    return int(match["level"]) if match else None


def models_in(tables: Sequence[Table]) -> list[str]:
    """Return the cells of the columns 'Model'."""
    return [
        cell
        for table in tables
        for row in table.rows
        for head, cell in zip(table.heads, row, strict=False)
        if head.strip("*` ").lower() == "model"
    ]
