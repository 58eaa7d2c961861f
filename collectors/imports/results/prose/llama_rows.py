"""Reads rows of llama-bench that were pasted without their heads, with or without bars, as tables with heads.

A row begins with a model, its size in bytes and its number of parameters, and ends with a test and its speed. Its heads
are those of a table in the same text that has as many columns, else those that llama-bench prints by default.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from collectors.imports.results.prose.llama_tables import SETTINGS, SPEED, TEST, is_llama_bench
from collectors.imports.results.prose.tables import Table, cells_of
from collectors.imports.results.tools.printed import MARK

MAX_LINE_CHARS = 600
SIZE, PARAMS = (re.compile(rf"\d{{1,6}}(?:\.\d{{1,3}})? ?{unit}") for unit in (r"[KMG]iB", r"[KMBT]"))
ROW_WITHOUT_BARS = re.compile(
    rf"\s{{0,40}}(?P<model>\S.{{0,100}}?)\s{{1,40}}(?P<size>{SIZE.pattern})\s{{1,40}}(?P<params>{PARAMS.pattern})"
    r"\s{1,40}(?P<settings>(?:[^\s|]{1,60}\s{1,40}){0,24}?)(?P<test>(?:pp|tg)\d[\w+]{0,30}(?: ?@ ?(?:d|pp)\d{1,9})?)"
    r"\s{1,40}(?P<speed>\d[\d.]{0,20}(?:[^\w|]{1,6}\d[\d.]{0,20})?)\s{0,40}"
)
FIRST_HEADS, LAST_HEADS = ("model", "size", "params"), ("test", "t/s")
LEAST_CELLS = len(FIRST_HEADS) + len(LAST_HEADS)
BACKEND = re.compile(r"[A-Za-z][\w+, -]{0,80}")
QUOTED = re.compile(r"^[>\s]{1,12}")
OF_PROCESSOR = re.compile(r"\b(?:CPU|BLAS|ZenDNN)\b")  # then llama-bench prints the threads, not the layers on a GPU


def has_rows(text: str) -> bool:
    """Return whether a text contains such a row, with heads or without."""
    return any(_cells_of_row(line) for line in text.splitlines())


def read_llama_rows(text: str, tables: Sequence[Table]) -> tuple[list[Table], str]:
    """Return a table for each passage of such rows, and the text with their lines left empty.

    `tables`: those of the text that were found by their heads.
    """
    lines = text.splitlines()
    heads_by_width = _heads_by_width(lines, tables)
    rows_by_passage: list[list[int]] = []
    is_open = False
    for index, line in enumerate(lines):
        if cells := _cells_of_row(line):
            is_same = is_open and len(_cells_of_row(lines[rows_by_passage[-1][-1]])) == len(cells)
            rows_by_passage += [] if is_same else [[]]
            rows_by_passage[-1].append(index)
            is_open = True
        else:
            is_open = is_open and not line.strip()
    row_tables = [_table_of(lines, indexes, heads_by_width) for indexes in rows_by_passage]
    for index in (index for indexes in rows_by_passage for index in indexes):
        lines[index] = ""
    return row_tables, "\n".join(lines)


def with_lost_heads(tables: Sequence[Table]) -> list[Table]:
    """Return the tables with heads where only the rule above the rows was kept."""
    heads_by_width = _heads_by_width((), tables)
    return [
        table._replace(heads=_heads_of(table.rows[0], heads_by_width))
        if table.rows and not table.heads[0] and all(_is_row(row) for row in table.rows)
        else table
        for table in tables
    ]


def _cells_of_row(line: str) -> list[str]:
    """Return the cells of a row; empty for any other line."""
    if len(line) > MAX_LINE_CHARS or "iB" not in line:
        return []
    line = MARK.sub("", QUOTED.sub("", line))
    if "|" in line:
        cells = cells_of(line)
        return next((row for row in (cells, cells[:-1]) if _is_row(row)), [])  # a remark may stand behind the last bar
    match = ROW_WITHOUT_BARS.fullmatch(line)
    if match is None:
        return []
    return [" ".join(match["model"].split()), match["size"], match["params"], *match["settings"].split(),
            match["test"], match["speed"]]  # fmt: skip


def _is_row(cells: Sequence[str]) -> bool:
    test = TEST.fullmatch(cells[-2]) if len(cells) >= LEAST_CELLS else None
    is_timed = test is not None and bool(test["pp"] or test["tg"]) and SPEED.fullmatch(cells[-1]) is not None
    return is_timed and bool(SIZE.fullmatch(cells[1]) and PARAMS.fullmatch(cells[2]))


def _heads_by_width(lines: Sequence[str], tables: Sequence[Table]) -> dict[int, list[str]]:
    """Return the heads of llama-bench in a text by their number: of its tables, and lines of heads alone."""
    heads = [table.heads for table in tables if is_llama_bench(table.heads)]
    heads += [cells_of(line) for line in lines if "|" in line and "t/s" in line and is_llama_bench(cells_of(line))]
    words = (line.split() for line in lines if "|" not in line and line.rstrip().endswith(LAST_HEADS[-1]))
    heads += [names for names in words if {*names} <= {*FIRST_HEADS, *SETTINGS, *LAST_HEADS} and is_llama_bench(names)]
    return {len(names): names for names in heads}


def _table_of(lines: Sequence[str], indexes: Sequence[int], heads_by_width: Mapping[int, list[str]]) -> Table:
    rows = [_cells_of_row(lines[index]) for index in indexes]
    row_lines = [index + 1 for index in indexes]
    return Table(row_lines[0], _heads_of(rows[0], heads_by_width), rows, row_lines=row_lines)


def _heads_of(row: Sequence[str], heads_by_width: Mapping[int, list[str]]) -> list[str]:
    """Return the heads of a row's columns; settings whose head nobody states are numbered."""
    if len(row) in heads_by_width:
        return heads_by_width[len(row)]
    heads = list(FIRST_HEADS)
    settings = list(row[len(FIRST_HEADS) : -len(LAST_HEADS)])
    if settings and BACKEND.fullmatch(settings[0]):
        is_of_processor = OF_PROCESSOR.search(settings[0]) is not None
        heads += ["backend", "threads" if is_of_processor else "ngl"][: len(settings)]
    numbers = range(len(heads) + 1, len(row) - len(LAST_HEADS) + 1)
    return [*heads, *(f"column-{number}" for number in numbers), *LAST_HEADS]
