"""Names the point of a table's cell, with the level, the lengths and the depth that its row, column and title state."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from collectors.imports.results.builder import MeasurementPoint
from collectors.imports.results.prose.heads import (
    CONCURRENCY_HEAD,
    DEPTH_HEAD,
    DERIVED_HEAD,
    LENGTHS_HEAD,
    LEVEL_HEADS,
    OUTPUT_HEAD,
    OUTPUT_TEST_HEAD,
    PROMPT_HEAD,
    PROMPT_TEST_HEAD,
    UNIT_HEAD,
    count_metric,
    names_measurement,
    plain,
)
from collectors.imports.results.prose.metric_names import DERIVED, metric_of
from collectors.imports.results.prose.number_text import (
    has_no_value,
    read_cell,
    read_parts,
    read_statistics,
    states_failure,
)
from collectors.imports.results.prose.stated_figures import MAX_NAME_CHARS, unit_of_names
from collectors.imports.results.prose.stated_points import point_of_words
from collectors.imports.results.prose.tables import Table
from collectors.imports.results.prose.units import RATES, unit_in

LEVEL = re.compile(
    r"(?:[×x]|c ?=? ?)?(?P<level>\d{1,3}(?:,\d{3})+|\d{1,9})[×x]?"
    r"(?: (?:tokens|tok|users?|requests?|reqs?))?(?: \([^()]{1,40}\))?",
    re.IGNORECASE,
)
WHOLE_DECIMALS = re.compile(r"(?<=\d)\.0{1,6}$")  # '4.000' at once
MAX_HEAD_CHARS = 24
MOST_OUTPUT_TOKENS = 1_000_000  # more 'max tokens' are those of a cache
FOOTNOTES = " \u2020\u2021\u00a7\u00b6"
VERDICT = re.compile(r"[\u2705\u274c\u2713\u2714\u2717\u2718]|pass(?:ed)?|fail(?:ed)?|ok", re.IGNORECASE)
NUMBERS = re.compile(r"[\d.,]{1,12}(?: ?(?:[/+→]|-{1,2}>) ?[\d.,]{1,12}){1,20}(?: ?(?P<unit>ms|s|t(?:ok)?/s))?")
CHANGE = re.compile(r"[*`]{0,3}[+−-]\d")  # '+4.5s (+129%)'
LENGTHS = re.compile(r"(?P<prompt>\d{1,7}) ?[/x×,+] ?(?P<output>\d{1,7})", re.IGNORECASE)


def point_of(table: Table, row: Sequence[str], column: int, line: int, label: str) -> MeasurementPoint:
    """Return the point of a cell: its names, and the level and lengths that other cells or the words around state."""
    column_name = table.heads[column] if column < len(table.heads) else ""
    heading = f"{table.heading}: " if table.heading else ""
    point = point_of_words(
        f"{heading}{_name(table, row, column, line, label)}",
        f"{row[0]} | {column_name}",
        " | ".join(cell for n, cell in enumerate(row) if n not in (0, column) and read_cell(cell) is None),
        f"{table.title} | {table.heading}",
    )
    prompt_tokens, output_tokens = _lengths(table, row, column)
    level, depth_tokens = _level(table, row, column, CONCURRENCY_HEAD), _level(table, row, column, DEPTH_HEAD)
    return point._replace(
        concurrency=point.concurrency if level is None else level,
        prompt_tokens=point.prompt_tokens if prompt_tokens is None else prompt_tokens,
        output_tokens=point.output_tokens if output_tokens is None else output_tokens,
        depth_tokens=point.depth_tokens if depth_tokens is None else depth_tokens,
    )


def _lengths(table: Table, row: Sequence[str], column: int) -> tuple[int | None, int | None]:
    """Return the lengths of a prompt and its answer: of two columns, or of one ('1024/128')."""
    for head, cell in zip(table.heads, row, strict=False):
        if LENGTHS_HEAD.fullmatch(plain(head)) and (match := LENGTHS.fullmatch(plain(cell))):
            return int(match["prompt"]), int(match["output"])
    if any(unit_in(head) in RATES for head in table.heads):
        tests = [_level(table, row, column, pattern) for pattern in (PROMPT_TEST_HEAD, OUTPUT_TEST_HEAD)]
        if None not in tests:
            return tests[0], tests[1]
    output_tokens = _level(table, row, column, OUTPUT_HEAD)
    is_of_cache = output_tokens is not None and output_tokens > MOST_OUTPUT_TOKENS
    return _level(table, row, column, PROMPT_HEAD), None if is_of_cache else output_tokens


def _level(table: Table, row: Sequence[str], column: int, pattern: re.Pattern[str]) -> int | None:
    """Return the number in the column with such a head, or in the row with such a name: '4', '×4', '**c=4**'."""
    indexes = [index for index, head in enumerate(table.heads) if pattern.fullmatch(plain(head))]
    level_columns = [
        index for index in indexes if "conc" in table.heads[index].lower()
    ]  # 'concurrency' beside 'parallel'
    index = next(iter([*level_columns, *indexes]), None)
    if index is not None and index < len(row) and pattern is CONCURRENCY_HEAD:
        row = [*row[:index], WHOLE_DECIMALS.sub("", row[index]), *row[index + 1 :]]
    if index is not None and not _is_letter_of_arm(table.heads[index], map(plain, table.heads)):
        is_of_columns = index == 0 < column < len(table.heads) and _count(row[0]) is None
        return _count(table.heads[column]) if is_of_columns else _count(row[index]) if index < len(row) else None
    level_row = next((other for other in table.level_rows if pattern.fullmatch(plain(other[0]))), None)
    return _count(level_row[column]) if level_row and column < len(level_row) else None


def _is_letter_of_arm(name: str, siblings: Iterable[str]) -> bool:
    """Return whether a letter names an arm: 'C' and 'D' beside 'A' and 'B' are no concurrency and no depth."""
    return len(plain(name)) == 1 and not {"A", "B", "a", "b"}.isdisjoint(siblings)


def _count(cell: str) -> int | None:
    match = LEVEL.fullmatch(plain(cell).rstrip(FOOTNOTES))
    return int(match["level"].replace(",", "")) if match else None


def is_level_row(row: Sequence[str], heads: Sequence[str], names: Collection[str]) -> bool:
    """Return whether a row states the levels, lengths or depths of the columns and no figures.

    `names`: of the table's rows; a letter names an arm beside others, or where the columns state units.
    """
    if len(plain(row[0])) == 1 and (any(map(unit_in, heads)) or _is_letter_of_arm(row[0], names)):
        return False
    cells = [cell for cell in row[1:] if any(map(str.isdigit, cell))]
    return (
        any(pattern.fullmatch(plain(row[0])) for pattern in LEVEL_HEADS)
        and bool(cells)
        and all(_count(cell) is not None for cell in cells)
    )


def _name(table: Table, row: Sequence[str], column: int, line: int, label: str) -> str:
    """Return a row's texts and its column name, with the line, since several tables may have the same names."""
    heads = table.heads
    texts = [
        _with_head(table, cell, n) for n, cell in enumerate(row)
        if n != column and cell and (n == 0 or _is_name(table, row, n, label))
    ]  # fmt: skip
    column_name = heads[column] if column < len(heads) else ""
    if column_name and heads.count(column_name) > 1:
        column_name = f"{column_name} (column {column + 1})"
    row_name = ", ".join(texts)[: MAX_NAME_CHARS // 2] + (
        f": {column_name[: MAX_NAME_CHARS // 2]}" if column_name and column_name != "Value" else ""
    )
    return f"{row_name} (line {line})"


def _with_head(table: Table, cell: str, column: int) -> str:
    """Return a cell of a name; a whole number behind the first cell is nothing without its head: 'topk=4'."""
    head = plain(table.heads[column]) if 0 < column < len(table.heads) else ""
    is_count = 0 < len(head) <= MAX_HEAD_CHARS and plain(cell).isdecimal()
    return f"{head}={plain(cell)}" if is_count else cell


def _is_name(table: Table, row: Sequence[str], column: int, label: str) -> bool:
    """Return whether a cell names the measurement: it is neither a number with a unit nor a derived value."""
    value = read_cell(row[column])
    column_name = table.heads[column] if column < len(table.heads) else ""
    cell = row[column]
    has_several = bool(read_statistics(cell)) or (value is None and bool(read_parts(cell)))
    has_metric = value is not None and (
        value.unit
        or column in table.title_columns
        or unit_of_names(column_name, label, table.title)
        or metric_of(f"{column_name} {label}", None)
        or count_metric(value, label, column_name)
    )
    numbers = NUMBERS.fullmatch(cell.replace("*", "")) if not set("/+→>").isdisjoint(cell) else None
    has_several |= (
        numbers is not None and (numbers["unit"] or unit_of_names(column_name, label, table.title)) is not None
    )
    is_other = has_no_value(cell) or states_failure(cell) or has_several or VERDICT.fullmatch(plain(cell)) is not None
    is_open = value is not None and value.unit is None
    has_metric = has_metric or (is_open and column > 0 and names_measurement(column_name))
    is_other = is_other or (column > 0 and CHANGE.match(cell) is not None)
    is_compared = DERIVED.search(column_name) or DERIVED_HEAD.fullmatch(column_name)
    return not (is_compared or UNIT_HEAD.fullmatch(column_name) or is_other or has_metric)
