"""Reads the tables that EvalScope's `perf` prints: a level's summary with its percentiles, the report of several."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.tools import evalscope
from collectors.imports.results.tools.framed_tables import FramedTable, framed_tables
from collectors.imports.results.tools.printed import number_or_text
from collectors.imports.results.tools.printed_block import NO_COMMAND, command_among, model_of, without_blocks
from collectors.imports.results.values import number
from domain import JsonValue
from load_records import Result

PROGRAM = re.compile(r"\bevalscope perf\b|\bevalscope\b.{0,40}\bperf\b")
SUM_LABELS = {"time taken for tests (s)", "test duration (s)"}
COUNTS, COUNT_CELLS = "total / success / failed", re.compile(r"(\d{1,9}) / (\d{1,9}) / (\d{1,9})")
LEVEL, RATE, METRIC = "conc.", "rate", "metric"
SPEEDS = {"gen. toks/s", "gen. tok/s", "gen/s"}
STATISTICS = {"avg": "mean", "mean": "mean", "p50": "median", "p90": "p90", "p99": "p99", "max": "max"}
SHARE = re.compile(r"(?P<number>\d{1,3}(?:\.\d{1,3})?)%")
BEST = re.compile(r"\s{0,12}(?:Highest RPS|Lowest Latency) {1,40}Concurrency \d{1,9} \(.{1,40}\)\s*")


def has_printed(content: str) -> bool:
    """Return whether a text contains such a table."""
    is_possible = any(mark in content for mark in ("Time taken for tests", "Test Duration", "Conc.", "Speed(tokens/s)"))
    return is_possible and any(map(_is_known, framed_tables(content.splitlines())))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each summary and each report of a text, and the text with their tables left empty."""
    if not has_printed(content):
        return [], content
    lines = content.splitlines()
    tables = list(framed_tables(lines))
    loads: list[LoadBuilder] = []
    read_ranges: list[tuple[int, int]] = [
        (index, index + 1) for index, line in enumerate(lines) if BEST.fullmatch(line[:120])
    ]
    point, is_report, model = MeasurementPoint("all requests"), False, None
    heads_of_report: list[list[str]] = []
    numbers_of_reports: set[int] = set()
    for table in tables:
        is_sum, is_level, is_percentiles = _is_sum(table), _is_level(table), _has_percentiles(table)
        model = _model_of(table) or model
        is_speeds = evalscope.SPEED in table.heads
        if not (is_sum or is_level or is_speeds or (is_percentiles and loads)):
            continue
        is_next_report = is_level and (not is_report or table.heads in heads_of_report)
        if is_sum or is_next_report or not loads:
            command = command_among(lines[: table.start], PROGRAM) or NO_COMMAND
            number_of_load = first_number + len(loads)
            loads.append(LoadBuilder(
                ticket, evalscope.TOOL, None, evalscope.TOOL, ticket.file_date, number=number_of_load,
                model=(model if is_level else None) or model_of(command), line=table.start + 1,
            ))  # fmt: skip
            heads_of_report = []
        is_report = is_level
        heads_of_report += [table.heads]
        numbers_of_reports |= {loads[-1].number} if is_level else set()
        if is_sum:
            point = _add_sums(loads[-1], table)
        elif is_level:
            _add_levels(loads[-1], table)
        elif is_speeds:
            evalscope.add_speeds(loads[-1], _rows_with_numbers(table))
        else:
            _add_percentiles(loads[-1], table, point)
        read_ranges.append((table.start, table.end))
    return _without_repetitions(loads, numbers_of_reports), without_blocks(lines, read_ranges)


def add_report(load: LoadBuilder, tables: Iterable[FramedTable]) -> None:
    """Add the tables of levels among the tables of a report."""
    for table in filter(_is_level, tables):
        _add_levels(load, table)


def _without_repetitions(loads: Sequence[LoadBuilder], numbers_of_reports: Collection[int]) -> list[LoadBuilder]:
    """Return the loads with rows: what a report repeats of a level's own summary is stored once."""
    keys: set[tuple[str, str, int | None]] = set()
    for load in loads:
        if load.number not in numbers_of_reports:
            keys |= {(row.metric, row.statistic, row.concurrency) for row in load.result_rows if row.metric != STATED}
            continue
        load.rows = [
            row for row in load.rows
            if not (isinstance(row, Result) and (row.metric, row.statistic, row.concurrency) in keys)
        ]  # fmt: skip
    return [load for load in loads if load.rows]


# --- tables -----------------------------------------------------------------------------------------------------------
def _is_known(table: FramedTable) -> bool:
    return _is_sum(table) or _is_level(table) or evalscope.SPEED in table.heads


def _is_sum(table: FramedTable) -> bool:
    labels = {row[0].lower() for row in table.rows if len(row) == 2}
    return table.heads[1:] == ["value"] and bool(labels & SUM_LABELS)


def _is_level(table: FramedTable) -> bool:
    heads = set(table.heads)
    is_metric_table = any(head.startswith(METRIC) for head in heads) and RATE in heads
    return table.heads[:1] == [LEVEL] and (("rps" in heads and bool(heads & SPEEDS)) or is_metric_table)


def _has_percentiles(table: FramedTable) -> bool:
    is_by_row = table.heads[:1] in (["percentiles"], ["percentile"])
    return is_by_row or (table.heads[:1] == [METRIC] and any(map(evalscope.statistic_of, table.heads[1:])))


def _model_of(table: FramedTable) -> str | None:
    """Return the model of the report's basic information."""
    return next((row[1] for row in table.rows if not table.heads and len(row) == 2 and row[0] == "Model"), None)


# --- values -----------------------------------------------------------------------------------------------------------
def _add_sums(load: LoadBuilder, table: FramedTable) -> MeasurementPoint:
    values = {row[0]: number_or_text(row[1]) for row in table.rows if len(row) == 2 and row[1]}
    counts = next((COUNT_CELLS.fullmatch(str(v)) for label, v in values.items() if label.lower() == COUNTS), None)
    if counts:
        total, succeeded, failed = map(int, counts.groups())
        other_values = {label: value for label, value in values.items() if label.lower() != COUNTS}
        first = {"Total Requests": total, "Success Requests": succeeded, "Failed Requests": failed}
        duration = {label: other_values.pop(label) for label in list(other_values) if label.lower() in SUM_LABELS}
        values = {**duration, **first, **other_values}
    return evalscope.add_summary(load, values)


def _add_percentiles(load: LoadBuilder, table: FramedTable, point: MeasurementPoint) -> None:
    """Add percentiles, whose names stand in the first column or in the heads."""
    is_by_row = table.heads[0] != METRIC
    for row in table.rows:
        for head, cell in zip(table.heads[1:], row[1:], strict=False):
            label, percentile = (head, row[0]) if is_by_row else (row[0], head)
            statistic, value = evalscope.statistic_of(percentile), number_or_text(cell)
            if statistic and number(value) is not None:
                evalscope.add_value(load, point, label, value, statistic)


def _rows_with_numbers(table: FramedTable) -> Iterator[Mapping[str, JsonValue]]:
    return (dict(zip(table.heads, map(number_or_text, row), strict=False)) for row in table.rows)


def _add_levels(load: LoadBuilder, table: FramedTable) -> None:
    """Add the rows of a report; below a level those without one are its further metrics."""
    point = MeasurementPoint("all requests")
    for row in table.rows:
        cells = dict(zip(table.heads, row, strict=False))
        if cells.get(LEVEL) or cells.get(RATE):
            point = evalscope.point_of(number_or_text(cells.get(LEVEL)), number_or_text(cells.get(RATE)))
        metric_head = next((head for head in table.heads if head.startswith(METRIC)), None)
        for head, cell in cells.items():
            if head not in (LEVEL, RATE, "num", "traces", metric_head):
                _add_cell(load, point, cells.get(metric_head) if metric_head else None, head, cell, metric_head)


def _add_cell(
    load: LoadBuilder, point: MeasurementPoint, row_label: str | None, head: str, cell: str, metric_head: str | None
) -> None:
    """Add a cell; in a table with a column of metrics its head is a statistic, or the time that it is of."""
    share = SHARE.fullmatch(cell)
    value = number_or_text(share["number"] if share else cell)
    if number(value) is None:
        return
    label = row_label or head
    statistic = STATISTICS.get(head) if row_label else None
    if row_label and statistic is None:  # of the throughput of a part of the time
        named_point = point._replace(name=f"{point.name}: {row_label}, {head}")
        load.result(named_point, STATED, STATED, value, unit="tok/s" if "tok/s" in (metric_head or "") else "1")
    elif share and label.lower() != evalscope.ACCEPTANCE:
        unitless_label = label.replace("(%)", "").strip()
        load.result(
            point._replace(name=f"{point.name}: {unitless_label}"), STATED, statistic or STATED, value, unit="%"
        )
    else:
        evalscope.add_value(load, point, label, value, statistic)
