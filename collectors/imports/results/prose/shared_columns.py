"""Splits a column whose head names several values: 'TTFT ms · tok/s' above '81 · 59.5', 'p50 / p99' above '8 / 12'."""

from __future__ import annotations

import re
from collections.abc import Sequence

from collectors.imports.results.prose.metric_names import MAXIMUM, MEAN, MEDIAN, MINIMUM, PERCENTILE
from collectors.imports.results.prose.number_text import has_no_value, read_cell
from collectors.imports.results.prose.units import HEADING_UNIT

SEPARATORS = re.compile(r" ?[·•] ?| / |; ")
SLASH = re.compile(r" ?/ ?(?!s\b|sec)")  # not that of 'tok/s'
STATISTICS = (PERCENTILE, MEDIAN, MAXIMUM, MINIMUM, MEAN)


def split_columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows with a column for each value; a cell without a value stays in the first of its columns."""
    parts_of_heads = [SEPARATORS.split(head) for head in heads]
    splits = {column: len(parts) for column, parts in enumerate(parts_of_heads) if len(parts) > 1}
    splits = {column: count for column, count in splits.items() if _is_split(rows, column, count)}
    split_heads = [name for column, head in enumerate(heads) for name in (_names(head) if column in splits else [head])]
    return split_heads, [
        [part for column, cell in enumerate(row) for part in _parts(cell, splits.get(column, 1))] for row in rows
    ]


def _is_split(rows: Sequence[Sequence[str]], column: int, count: int) -> bool:
    """Return whether the cells of a column hold as many numbers each."""
    cells = [row[column].strip("*` ") for row in rows if column < len(row)]
    values = [SEPARATORS.split(cell) for cell in cells if not has_no_value(cell) and any(map(str.isdigit, cell))]
    return bool(values) and all(
        len(parts) == count and all(has_no_value(part) or read_cell(part) for part in parts) for parts in values
    )


def _parts(cell: str, count: int) -> list[str]:
    parts = [part.strip("*` ") for part in SEPARATORS.split(cell)] if count > 1 else [cell]
    return parts if len(parts) == count else [cell, *[""] * (count - 1)]


def _names(head: str) -> list[str]:
    """Return the name of each value: the words before a first statistic and the unit at the end hold for all."""
    parts = SEPARATORS.split(head)
    statistic = next((match for pattern in STATISTICS if (match := pattern.search(parts[0]))), None)
    subject = parts[0][: statistic.start()].strip() if statistic else ""
    unit = match[0] if (match := HEADING_UNIT.search(parts[-1])) else ""
    has_one_unit = not any(HEADING_UNIT.search(part) for part in parts[:-1])
    names = [parts[0], *(f"{subject} {part}" if _is_statistic(part) else part for part in parts[1:])]
    return [f"{name} {unit}" if has_one_unit and unit and name is not names[-1] else name for name in names]


def names_of_parts(label: str) -> list[str]:
    """Return the names of the values that a label names: 'TTFT p50 (ms)', 'TTFT p99 (ms)' of 'TTFT p50/p99 (ms)'."""
    return _names(SLASH.sub(" / ", label))


def _is_statistic(part: str) -> bool:
    """Return whether a part names nothing but a statistic and perhaps its unit."""
    words = HEADING_UNIT.sub("", part).strip(" ()")
    return any(pattern.fullmatch(words) for pattern in STATISTICS)
