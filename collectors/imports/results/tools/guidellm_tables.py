"""Reads the tables that GuideLLM prints: one load per report, one point per benchmark.

As in its files, `ITL` is a request's time after its first token divided by the later tokens, and `TPOT` its total time
divided by all of its tokens. Only the table of the server's throughput counts all requests.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.tools.guidellm import TOOL
from collectors.imports.results.tools.printed_block import without_blocks

EDGE = re.compile(r"\s{0,12}\|=+\|(?:=+\|)*\s*")
RULE = re.compile(r"\s{0,12}\|-+\|(?:-+\|)*\s*")
TITLE = re.compile(r"\s{0,12}(?:ℹ\s{1,4})?(?P<title>[A-Z][\w ]{2,60} Statistics|Run Summary Info)\b.{0,60}")
NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?")
STATISTICS = {"Mdn": "median", "Mean": "mean", "Tot": "total", "Sec": "total"}
SUMMARY = "Run Summary Info"
MODEL = re.compile(r"backend validated with model (?P<model>\S{1,200})")
SERVER = "Server Throughput Statistics"
COLUMNS = {  # title of the table, group and name of the column -> metric, factor
    (SUMMARY, "Timings", "Dur"): ("duration_s", 1.0),
    (SUMMARY, "Input Tokens", "Comp"): ("prompt_tokens", 1.0),
    (SUMMARY, "Output Tokens", "Comp"): ("completion_tokens", 1.0),
    ("Request Latency Statistics", "Request Latency", "Sec"): ("e2e_ms", 1e3),
    ("Request Latency Statistics", "TTFT", "ms"): ("ttft_ms", 1.0),
    ("Request Latency Statistics", "ITL", "ms"): ("tpot_ms", 1.0),
    ("Request Latency Statistics", "TPOT", "ms"): ("e2e_per_token_ms", 1.0),
    ("Request Token Statistics", "Input Tok", "Per Req"): ("prompt_tokens", 1.0),
    ("Request Token Statistics", "Output Tok", "Per Req"): ("completion_tokens", 1.0),
    ("Request Token Statistics", "Output Tok", "Per Stream Iter"): ("tokens_per_piece", 1.0),
    (SERVER, "Requests", "Per Sec"): ("request_tps", 1.0),
    (SERVER, "Requests", "Concurrency"): ("mean_concurrency", 1.0),
    (SERVER, "Input Tokens", "Per Sec"): ("prompt_tps", 1.0),
    (SERVER, "Output Tokens", "Per Sec"): ("output_tps", 1.0),
    (SERVER, "Total Tokens", "Per Sec"): ("total_tps", 1.0),
}
UNITS = {"Sec": "s", "ms": "ms"}
PER_SECOND = ("Per Sec", "Per Second")
SYNCHRONOUS, CONCURRENT = "synchronous", "concurrent"
MAX_LINES_ABOVE = 3
NO_VALUE = ("", "--")


class PrintedColumn(NamedTuple):
    """Heads of a column, from top to bottom."""

    group: str
    name: str
    statistic: str


class GuideTable(NamedTuple):
    """A printed table: its first line, the line behind its last, its title, and its rows under their columns."""

    start: int
    end: int
    title: str
    columns: list[PrintedColumn]
    rows: list[list[str]]


def has_printed(content: str) -> bool:
    """Return whether a text contains such a table."""
    return "|=====" in content and bool(_tables(content.splitlines()))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each report of a text, and the text with the tables left empty."""
    lines = content.splitlines()
    tables = _tables(lines) if "|=====" in content else []
    reports: list[list[GuideTable]] = []
    for table in tables:
        is_next = not reports or table.title in [other.title for other in reports[-1]]
        if is_next:
            reports.append([])
        reports[-1].append(table)
    loads = [_load_of(report, ticket, number) for number, report in enumerate(reports, first_number)]
    models = {match["model"] for match in MODEL.finditer(content)}
    for load in loads if len(models) == 1 else ():
        load.model = next(iter(models))
    return loads, without_blocks(lines, [(table.start, table.end) for table in tables])


# --- tables -----------------------------------------------------------------------------------------------------------
def _tables(lines: Sequence[str]) -> list[GuideTable]:
    """Return the tables of GuideLLM; a table has an edge, three lines of heads, a rule, rows and an edge."""
    tables: list[GuideTable] = []
    index = 0
    while index < len(lines):
        table = _table_at(lines, index, tables[-1] if tables else None)
        if table:
            tables.append(table)
        index = table.end - 1 if table and _is_edge(lines, table.end - 1) else index + 1  # an edge may open the next
    return tables


def _is_edge(lines: Sequence[str], index: int) -> bool:
    return index < len(lines) and len(lines[index]) < 1_000 and EDGE.fullmatch(lines[index]) is not None


def _table_at(lines: Sequence[str], start: int, table_above: GuideTable | None) -> GuideTable | None:
    if not _is_edge(lines, start) or start + 4 >= len(lines) or not RULE.fullmatch(lines[start + 4][:1_000]):
        return None
    heads = [_heads(line) for line in lines[start + 1 : start + 4]]
    width = lines[start + 4].strip().count("|") - 1
    if (heads[0][:1], heads[1][:1]) != (["Benchmark"], ["Strategy"]) or any(len(row) != width for row in heads):
        return None
    end = start + 5
    rows = []
    while end < len(lines) and "|" in lines[end] and not _is_edge(lines, end):
        rows.append([cell.strip() for cell in lines[end].strip().strip("|").split("|")])
        end += 1
    end += _is_edge(lines, end)
    titles = [match["title"] for line in lines[max(0, start - MAX_LINES_ABOVE) : start] if (match := TITLE.match(line))]
    continued_title = table_above.title if table_above and table_above.end - 1 == start else ""
    title = titles[-1] if titles else f"{continued_title}, continued" if continued_title else ""
    return GuideTable(start, end, title, [PrintedColumn(*column) for column in zip(*heads, strict=True)], rows)


def _heads(line: str) -> list[str]:
    """Return the head of each column; an empty cell without a blank continues the cell before it."""
    heads: list[str] = []
    for cell in line.strip()[1:-1].split("|"):
        heads.append(heads[-1] if not cell and heads else cell.strip())
    return heads


# --- loads ------------------------------------------------------------------------------------------------------------
def _load_of(tables: Sequence[GuideTable], ticket: Ticket, number: int) -> LoadBuilder:
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=number, line=tables[0].start + 1)
    concurrency = _concurrency(tables)
    keys: set[tuple[str, str, str]] = set()
    for table in tables:
        for row_number, row in enumerate(table.rows, 1):
            strategy = row[0] if row else ""
            level = 1 if strategy == SYNCHRONOUS else concurrency.get(row_number) if strategy == CONCURRENT else None
            point = MeasurementPoint(f"benchmark {row_number}, {strategy}", level)
            for column, cell in list(zip(table.columns, row, strict=False))[1:]:
                _add_cell(load, point, table.title, column, cell, keys)
    return load


def _concurrency(tables: Sequence[GuideTable]) -> dict[int, int]:
    """Return the number of requests at once by benchmark, where median and mean are the same whole number."""
    levels: dict[int, int] = {}
    for table in tables:
        indexes = [i for i, column in enumerate(table.columns) if column[:2] == ("Requests", "Concurrency")]
        for row_number, row in enumerate(table.rows, 1):
            cells = {row[index] for index in indexes if index < len(row)}
            if table.title == SERVER and len(cells) == 1 and NUMBER.fullmatch(cell := cells.pop()):
                levels |= {row_number: int(float(cell))} if float(cell).is_integer() else {}
    return levels


def _add_cell(
    load: LoadBuilder,
    point: MeasurementPoint,
    title: str,
    column: PrintedColumn,
    cell: str,
    keys: set[tuple[str, str, str]],
) -> None:
    """Add a cell, unless another table has it too; one of an unknown column is stated."""
    if cell in NO_VALUE:
        return
    metric, factor = COLUMNS.get((title, column.group, column.name), (STATED, 1.0))
    statistic = STATISTICS.get(column.statistic, column.statistic or STATED)
    is_number = NUMBER.fullmatch(cell) is not None
    if metric == STATED:
        name = ", ".join(dict.fromkeys(word for word in (title, column.group, column.name) if word))
        point = point._replace(name=f"{point.name}: {name}")
    if not is_number:
        load.params[f"{point.name}, {statistic}"] = cell
    elif (key := (point.name, metric, statistic)) not in keys:
        keys.add(key)
        unit = _unit_of(column) if metric == STATED else None
        load.result(point, metric, statistic, float(cell), factor=factor, unit=unit)


def _unit_of(column: PrintedColumn) -> str:
    """Return the unit of a column that Pitwall has no metric for."""
    is_tokens = "Tok" in column.group
    if column.name in PER_SECOND:
        return "tok/s" if is_tokens else "1/s"
    return UNITS.get(column.name) or UNITS.get(column.statistic) or ("tokens" if is_tokens else "1")
