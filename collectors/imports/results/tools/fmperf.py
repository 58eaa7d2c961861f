"""Reads the table that fmperf prints of a sweep of users, as a DataFrame or as CSV: its throughput is in tok/s."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools.printed import number_or_text, printed_text
from collectors.imports.results.tools.printed_block import PrintedBlock, blocks_among, read_blocks
from collectors.imports.results.values import count

TOOL = "fmperf"
NEEDED = {"n_requests", "n_fail", "throughput", "latency_nexttoken_ms"}
METRICS = {  # column -> metric, statistic
    "n_toks": ("completion_tokens", "total"),
    "n_fail": ("failed_requests", "total"),
    "throughput": ("output_tps", "mean"),
    "latency_prefill_ms": ("ttft_ms", "mean"),  # to the first piece of the answer
    "latency_nexttoken_ms": ("itl_ms", "mean"),
    "latency_e2e_ms": ("e2e_ms", "mean"),
}
ROW = re.compile(r"\s{0,12}\d{1,9}(?:[\s,]{1,40}(?:\d{1,15}(?:\.\d{1,15})?|NaN)?){4,20}\s{0,12}")
MAX_LINE_CHARS = 1_000
NO_PROGRAM = re.compile(r"(?!)")


def recognise(head: str) -> bool:
    """Return whether a file begins with the columns of such a table as CSV."""
    return _is_head(head.lstrip().partition("\n")[0])


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a file; raises ImportRefusedError if it has no row."""
    loads, _ = read_printed(printed_text(source), ticket, 0)
    if not loads:
        raise ImportRefusedError(f"{source.name} has the columns of fmperf, but no complete row.")
    return loads


def has_printed(content: str) -> bool:
    """Return whether a text contains such a table."""
    return "latency_nexttoken_ms" in content and any(True for _ in _blocks(content.splitlines()))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each table, and the text with the lines left empty."""
    return read_blocks(content, _blocks, NO_PROGRAM, _load_of, ticket, first_number)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the heads that have a row below them, with the rows."""
    for start, end in blocks_among(lines, _is_head, lambda line: ROW.fullmatch(line[:MAX_LINE_CHARS]) is not None):
        if end > start + 1:
            yield start, end


def _is_head(line: str) -> bool:
    return "latency_nexttoken_ms" in line[:MAX_LINE_CHARS] and set(_cells(line)) >= NEEDED


def _cells(line: str) -> list[str]:
    """Return the cells of a line, whose first column, the number of users, has no head."""
    line = line[:MAX_LINE_CHARS].strip()
    return [cell.strip() for cell in line.split(",")] if "," in line else line.split()


def _load_of(block: PrintedBlock, ticket: Ticket, number: int) -> LoadBuilder:
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=number)
    heads = [head for head in _cells(block.lines[0]) if head]
    for line in block.lines[1:]:
        users, *cells = (number_or_text(cell) for cell in _cells(line))
        if len(cells) != len(heads):
            continue
        values = dict(zip(heads, cells, strict=True))
        point = MeasurementPoint(f"{users} at once", count(users))
        request_count, failed = count(values["n_requests"]), count(values["n_fail"])
        if request_count is not None and failed is not None:
            load.result(point, "requests", "total", request_count - failed)
        for name, (metric, statistic) in METRICS.items():
            if name in values:
                load.result(point, metric, statistic, values[name])
    return load
