"""Reads the table that Hugging Face's inference-benchmarker prints: one load per table, a point per benchmark."""

from __future__ import annotations

import re
from collections.abc import Sequence

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.tools.framed_tables import FramedTable, framed_tables
from collectors.imports.results.tools.printed import number_or_text
from collectors.imports.results.tools.printed_block import without_blocks

TOOL = "inference-benchmarker"
HEADS = {"benchmark", "qps", "e2e latency (avg)", "ttft (avg)"}
COLUMNS = {
    "qps": "request_tps",
    "e2e latency (avg)": "e2e_ms",
    "ttft (avg)": "ttft_ms",
    "itl (avg)": "itl_ms",
    "throughput": "output_tps",
    "prompt tokens per req (avg)": "prompt_tokens",
    "decoded tokens per req (avg)": "completion_tokens",
}
CELL = re.compile(r"(?P<number>\d{1,12}(?:\.\d{1,9})?)(?: ?(?P<unit>req/s|sec|ms|tokens/sec))?")
COUNTS = re.compile(r"(?P<succeeded>\d{1,9})/(?P<all>\d{1,9})")
SUCCESSES, WARMUP = "successful requests", "warmup"
FACTORS = {"sec": 1e3}
WARMUP_NOTE = "The warm-up is left out."


def has_printed(content: str) -> bool:
    """Return whether a text contains such a table."""
    return "E2E Latency (avg)" in content and any(map(_is_results, framed_tables(content.splitlines())))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each table of results, and the text with the tables left empty."""
    if not has_printed(content):
        return [], content
    lines = content.splitlines()
    loads: list[LoadBuilder] = []
    settings: dict[str, str] = {}
    read_ranges: list[tuple[int, int]] = []
    for table in framed_tables(lines):
        if table.heads == ["parameter", "value"]:
            settings = {row[0]: row[1] for row in table.rows if len(row) == 2 and row[1] != "N/A"}
        elif _is_results(table):
            loads.append(_load_of(table, settings, ticket, first_number + len(loads)))
        else:
            continue
        read_ranges.append((table.start, table.end))
    return loads, without_blocks(lines, read_ranges)


def _is_results(table: FramedTable) -> bool:
    return set(table.heads) >= HEADS


def _load_of(table: FramedTable, settings: dict[str, str], ticket: Ticket, number: int) -> LoadBuilder:
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=number, line=table.start + 1)
    load.params |= {name: number_or_text(value) for name, value in settings.items()}
    for row in table.rows:
        if row and row[0] == WARMUP:
            load.notes.append(WARMUP_NOTE)
        elif row:
            _add_row(load, MeasurementPoint(row[0]), table.heads, row)
    return load


def _add_row(load: LoadBuilder, point: MeasurementPoint, heads: Sequence[str], row: Sequence[str]) -> None:
    for head, cell in zip(heads, row, strict=False):
        match, counts = CELL.fullmatch(cell), COUNTS.fullmatch(cell)
        if head in COLUMNS and match:
            factor = FACTORS.get(match["unit"] or "", 1.0)
            load.result(point, COLUMNS[head], "mean", float(match["number"]), factor=factor)
        elif head == SUCCESSES and counts:
            succeeded = int(counts["succeeded"])
            load.result(point, "requests", "total", succeeded)
            load.result(point, "failed_requests", "total", int(counts["all"]) - succeeded)
