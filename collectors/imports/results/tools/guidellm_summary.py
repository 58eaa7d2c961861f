"""Reads the tables 'Benchmarks Info' and 'Benchmarks Stats' that GuideLLM printed for years, also wrapped.

As in its files, `ITL` is a request's time after its first token divided by the later tokens, and `TPOT` its total time
divided by all of its tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.tools.guidellm import TOOL
from collectors.imports.results.tools.printed_block import without_blocks

GROUPS = re.compile(r"\s{0,40}Metadata\s{0,200}\|")
LINE_START = re.compile(
    r"\s{0,40}(?:Metadata\s{0,200}|Benchmark|-{3,80}"
    r"|(?:synchronous|asynchronous|throughput|concurrent|constant|poisson|async)(?:@[\d.]{1,20})?)\s{0,80}\|"
)
EDGE = re.compile(r"\s{0,12}={20,1000}\s{0,1000}")
RULE = re.compile(r"[-| ]{3,2000}")
NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?")
LEVEL = re.compile(r"(?P<strategy>[a-z_]{3,31})(?:@(?P<level>\d{1,6})(?:\.0{1,6})?)?")
SYNCHRONOUS, CONCURRENT = "synchronous", "concurrent"
MAX_LINES, MAX_LINE_CHARS = 2_000, 1_000
COLUMNS: Mapping[tuple[str, str], tuple[str, str]] = {  # group and head -> metric, statistic
    ("Metadata", "Duration (s)"): ("duration_s", "total"),
    ("Requests Made", "Comp"): ("requests", "total"),
    ("Requests Made", "Inc"): ("incomplete_requests", "total"),
    ("Requests Made", "Err"): ("failed_requests", "total"),
    ("Prompt Tok/Req", "Comp"): ("prompt_tokens", "mean"),
    ("Output Tok/Req", "Comp"): ("completion_tokens", "mean"),
    ("Prompt Tok Total", "Comp"): ("prompt_tokens", "total"),
    ("Output Tok Total", "Comp"): ("completion_tokens", "total"),
    ("Request Stats", "Per Second"): ("request_tps", "mean"),
    ("Request Stats", "Concurrency"): ("mean_concurrency", "mean"),
    ("Out Tok/sec", "mean"): ("output_tps", "mean"),
    ("Tot Tok/sec", "mean"): ("total_tps", "mean"),
}
LATENCIES = {"Req Latency": "e2e_ms", "TTFT": "ttft_ms", "ITL": "tpot_ms", "TPOT": "e2e_per_token_ms"}
LATENCY = re.compile(rf"(?P<name>{'|'.join(LATENCIES)}) \((?P<unit>ms|s|sec)\)")
FACTORS = {"ms": 1.0, "s": 1e3, "sec": 1e3}


class SummaryTable(NamedTuple):
    """A printed table: its first line, the line behind its last, group and head of each column, and its rows."""

    start: int
    end: int
    columns: list[tuple[str, str]]
    rows: list[list[str]]


def has_printed(content: str) -> bool:
    """Return whether a text contains such a table."""
    return "Metadata" in content and any(True for _ in _tables(content.splitlines()))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each report of a text, and the text with the tables left empty."""
    lines = content.splitlines()
    tables = list(_tables(lines)) if "Metadata" in content else []
    reports: list[list[SummaryTable]] = []
    for table in tables:
        if not reports or table.columns in [other.columns for other in reports[-1]]:
            reports.append([])
        reports[-1].append(table)
    loads = [_load_of(report, ticket, number) for number, report in enumerate(reports, first_number)]
    return loads, without_blocks(lines, [(table.start, table.end) for table in tables])


def _tables(lines: Sequence[str]) -> Iterator[SummaryTable]:
    index = 0
    while index < len(lines):
        end = index + 1
        if GROUPS.match(lines[index][:MAX_LINE_CHARS]):
            end = _end(lines, index)
            groups, heads, rule, *rows = [*_logical_lines(lines[index:end]), "", "", ""]
            columns = _columns(groups, heads)
            if heads.startswith("Benchmark") and RULE.fullmatch(rule) and columns:
                yield SummaryTable(
                    index, end, columns, [_cells(row) for row in rows if row and not RULE.fullmatch(row)]
                )
        index = end


def _end(lines: Sequence[str], start: int) -> int:
    """Return the index of the edge below a table, or behind the last of its lines."""
    limit = min(len(lines), start + MAX_LINES)
    return next((i for i in range(start, limit) if EDGE.fullmatch(lines[i]) or not lines[i].strip()), limit)


def _logical_lines(lines: Sequence[str]) -> list[str]:
    """Join what a terminal wrapped: a line that begins like none of the table's goes on with the one above."""
    joined: list[str] = []
    for line in lines:
        plain_line = line[:MAX_LINE_CHARS].strip()
        if LINE_START.match(line[:MAX_LINE_CHARS]) or not joined:
            joined.append(plain_line)
        else:
            joined[-1] = f"{joined[-1]} {plain_line}"
    return joined


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")]


def _columns(groups: str, heads: str) -> list[tuple[str, str]]:
    """Return group and head of each column; an empty group is that of the column before. Empty if they do not fit."""
    names: list[str] = []
    for cell in _cells(groups):
        names.append(" ".join(cell.split()) or (names[-1] if names else ""))
    columns = [" ".join(cell.split()) for cell in _cells(heads)]
    return list(zip(names, columns, strict=True)) if len(names) == len(columns) else []


def _load_of(tables: Sequence[SummaryTable], ticket: Ticket, number: int) -> LoadBuilder:
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=number, line=tables[0].start + 1)
    for table in tables:
        for row_number, row in enumerate(table.rows, 1):
            if len(row) != len(table.columns):
                load.notes.append(f"Benchmark {row_number} of a table was left out: its cells do not fit its columns.")
                continue
            point = MeasurementPoint(f"benchmark {row_number}, {row[0]}", _concurrency(row[0]))
            for (group, head), cell in list(zip(table.columns, row, strict=True))[1:]:
                _add_cell(load, point, group, head, cell)
    return load


def _concurrency(strategy: str) -> int | None:
    match = LEVEL.fullmatch(strategy)
    if match is None or match["strategy"] == SYNCHRONOUS:
        return 1 if match else None
    return int(match["level"]) if match["strategy"] == CONCURRENT and match["level"] else None


def _add_cell(load: LoadBuilder, point: MeasurementPoint, group: str, head: str, cell: str) -> None:
    latency = LATENCY.fullmatch(group)
    if not NUMBER.fullmatch(cell):
        load.params |= {f"{point.name}: {group}, {head}": cell} if cell else {}
    elif latency:
        load.result(point, LATENCIES[latency["name"]], head, float(cell), factor=FACTORS[latency["unit"]])
    elif column := COLUMNS.get((group, head)):
        load.result(point, *column, float(cell))
    else:
        named_point = point._replace(name=f"{point.name}: {group}, {head}")
        load.result(named_point, STATED, STATED, float(cell), unit="tokens" if "Tok" in group else "1")
