"""Leaves out what a summary or a comparison repeats of other tables: 'TPS @ c=50' of the arm of a sweep's column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from collectors.imports.results.builder import LoadBuilder
from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.metric_names import words
from collectors.imports.results.prose.repeated_values import significant_digits
from load_records import Result
from samples import Sample

_SUMMARY = words(
    r"\b(?:summary|overview|comparison|compared?|vs\.?|versus|at a glance|highlights?|recap|conclusions?|takeaways?"
    r"|key (?:results?|numbers?|figures?|metrics?|findings?)|tl;?dr|bottom line)(?!\w)"
)
_PLACE = re.compile(r"(?P<names>.*) \(line (?P<line>\d{1,9})\)")
_WORD = re.compile(r"[^\W_][\w.+-]*[^\W_]|\w")
_NO_ARM = frozenset(
    ("tps", "ttft", "tpot", "itl", "tok", "toks", "tokens", "token", "ms", "s", "sec", "avg", "mean", "median", "min",
     "max", "p50", "p90", "p95", "p99", "throughput", "latency", "output", "prompt", "total", "speed", "rate", "at",
     "the", "of", "c", "concurrency", "requests", "req", "decode", "prefill", "value", "time", "per", "and")
)  # fmt: skip
LEAST_CELLS = 2  # of an arm, all of which repeat
LEAST_DIGITS = 3  # of a cell without a level: fewer may be equal by chance


class _NamedFigure(NamedTuple):
    """A figure of a table: its line, the words of its row and of its column, and all words of its name."""

    row: Result
    line: str
    row_words: frozenset[str]
    column_words: frozenset[str]
    words: frozenset[str]


def leave_out_repeated_summaries(load: LoadBuilder, tables: Iterable[tuple[str, Sequence[Sample]]]) -> None:
    """Leave out the cells at a level of the load of such tables, if all those of an arm repeat cells of other tables.

    `tables`: the words above each table, and its rows. A cell repeats one with its value, unit, level and arm; one
    without a level repeats that of any, if another cell of its table does so too. Where the summary alone names the
    metric, the other cell gets it.
    """
    cells_of_tables = [(title, [_cell_of(row) for row in rows if isinstance(row, Result)]) for title, rows in tables]
    left_out: set[int] = set()
    named: dict[int, str] = {}
    for index, (title, cells) in enumerate(cells_of_tables):
        if not _SUMMARY.search(title):
            continue
        others: dict[tuple[float | None, str, int | None], list[_NamedFigure]] = {}
        for other_index, (other_title, other_cells) in enumerate(cells_of_tables):
            if other_index < index or (other_index != index and not _SUMMARY.search(other_title)):
                for cell in other_cells:
                    others.setdefault(_key_of(cell.row), []).append(cell)
        pairs = _repeats_without_level(cells, [cell for cells_alike in others.values() for cell in cells_alike])
        left_out |= {id(cell.row) for cell, _ in pairs}
        named |= _metrics_of_repeats(pairs)
        for arm_words, arm_cells in _arms_of(cells):
            repeats = [_repeat_of(cell, arm_words, others.get(_key_of(cell.row), ())) for cell in arm_cells]
            if len(arm_cells) >= LEAST_CELLS and all(repeats):
                left_out |= {id(cell.row) for cell in arm_cells}
                named |= _metrics_of_repeats(
                    [(cell, repeat) for cell, repeat in zip(arm_cells, repeats, strict=True) if repeat]
                )
    if left_out:
        rows = [row for row in load.rows if id(row) in left_out and isinstance(row, Result)]
        load.notes.append(
            f"What a summary repeats of other tables was left out: {len(rows)} values, {_values_of(rows)}."
        )
    load.rows = [
        replace(row, metric=named[id(row)]) if isinstance(row, Result) and id(row) in named else row
        for row in load.rows if id(row) not in left_out
    ]  # fmt: skip


def _repeats_without_level(
    cells: Sequence[_NamedFigure], others: Sequence[_NamedFigure]
) -> list[tuple[_NamedFigure, _NamedFigure]]:
    """Return the cells of many digits that state no level, each with the one at a level that it repeats."""
    pairs = []
    for cell in cells:
        row, own_words = cell.row, cell.row_words | cell.column_words
        is_open = row.concurrency is None and row.value is not None and significant_digits(row.value) >= LEAST_DIGITS
        alike = [
            other for other in others if is_open and own_words and other.row.concurrency is not None
            and (other.row.value, other.row.unit) == (row.value, row.unit)
        ]  # fmt: skip
        if repeat := _repeat_of(cell._replace(words=own_words), own_words, alike):
            pairs.append((cell, repeat))
    return pairs if len(pairs) >= LEAST_CELLS else []


def _metrics_of_repeats(pairs: Iterable[tuple[_NamedFigure, _NamedFigure]]) -> dict[int, str]:
    """Return the metrics that the first of each pair names and the second does not, by the second's row."""
    return {id(repeat.row): cell.row.metric for cell, repeat in pairs if repeat.row.metric == STATED != cell.row.metric}


def _values_of(rows: Sequence[Result]) -> str:
    values = list(dict.fromkeys(f"{row.value:.12g} {row.unit}" for row in rows))
    return ", ".join(values[:8]) + (" and more" if len(values) > 8 else "")


def _cell_of(row: Result) -> _NamedFigure:
    match = _PLACE.match(row.point)
    names = match["names"] if match else row.point
    around, _, column = names.rpartition(": ")
    label = around.rpartition(": ")[2]
    return _NamedFigure(row, match["line"] if match else "", _words_of(label), _words_of(column), _words_of(names))


def _words_of(text: str) -> frozenset[str]:
    """Return the words that may name an arm: neither a metric's nor a statistic's nor a unit's, nor a number alone."""
    lowered = (word.lower() for word in _WORD.findall(text))
    return frozenset(word for word in lowered if word not in _NO_ARM and not word.isdecimal())


def _arms_of(cells: Sequence[_NamedFigure]) -> Iterator[tuple[frozenset[str], list[_NamedFigure]]]:
    """Yield the cells at a level of each arm, a column or a row, and the words that name it."""
    by_arm: dict[tuple[str, frozenset[str]], list[_NamedFigure]] = {}
    for cell in cells:
        if cell.row.concurrency is not None and cell.row.value is not None:
            by_arm.setdefault(("", cell.column_words), []).append(cell)
            by_arm.setdefault((cell.line, cell.row_words), []).append(cell)
    yield from ((arm_words, arm_cells) for (_, arm_words), arm_cells in by_arm.items() if arm_words)


def _repeat_of(cell: _NamedFigure, arm_words: frozenset[str], others: Sequence[_NamedFigure]) -> _NamedFigure | None:
    """Return the cell of another table with the value, unit, level and arm of one."""
    row = cell.row
    return next(
        (
            other for other in others
            if _agree(row, other.row)
            and (row.metric == other.row.metric or STATED in (row.metric, other.row.metric))
            and (row.statistic == other.row.statistic or STATED in (row.statistic, other.row.statistic))
            and (arm_words <= other.words or any(own and own <= cell.words for own in _names_of_arm(other)))
        ),
        None,
    )  # fmt: skip


def _key_of(row: Result) -> tuple[float | None, str, int | None]:
    return (row.value, row.unit, row.concurrency)


def _agree(row: Result, other: Result) -> bool:
    """Return whether two figures state no different lengths and depths."""
    pairs = (
        (row.prompt_tokens, other.prompt_tokens),
        (row.output_tokens, other.output_tokens),
        (row.depth_tokens, other.depth_tokens),
    )
    return all(None in pair or pair[0] == pair[1] for pair in pairs)


def _names_of_arm(cell: _NamedFigure) -> tuple[frozenset[str], frozenset[str]]:
    return cell.column_words, cell.row_words
