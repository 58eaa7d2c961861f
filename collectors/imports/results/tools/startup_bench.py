"""Reads `vllm bench startup`: printed, and as JSON. Its times are in seconds; cold starts have no caches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import stdev
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED, percentile_name
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools.printed_block import PrintedBlock, blocks_among, model_of, read_blocks
from collectors.imports.results.values import dict_of, list_of, number

TOOL = "vllm bench startup"
PROGRAM = re.compile(r"\bvllm bench startup\b|\bbenchmark_startup\.py\b")
TITLE = re.compile(r"\s{0,12}STARTUP TIME BENCHMARK RESULTS\s*")
RULE = re.compile(r"\s{0,12}={10,80}\s*")
PHASE = re.compile(r"\s{0,12}(?P<phase>COLD|WARM) STARTUP:\s*")
NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
WHAT = r"(?P<what>(?:encoder )?compilation|(?:total )?startup)"
AVERAGE = re.compile(rf"\s{{0,12}}Avg {WHAT} time: (?P<seconds>{NUMBER}) seconds\s*")
PERCENTILES = re.compile(rf"\s{{0,12}}{WHAT} time percentiles:\s*", re.IGNORECASE)
PERCENTILE = re.compile(rf"\s{{0,12}}(?P<percent>\d{{1,2}}(?:\.\d{{1,3}})?)%: (?P<seconds>{NUMBER}) seconds\s*")
NAME = re.compile(r"avg_(?P<key>(?P<phase>cold|warm)_(?P<what>startup|compilation|encoder_compilation))_time")
METRICS = {"startup": "time_to_ready_s", "total startup": "time_to_ready_s", "compilation": "compile_s"}


# --- JSON -------------------------------------------------------------------------------------------------------------
def recognise(head: str) -> bool:
    """Return whether a file is the JSON that the benchmark writes with `--output-json`."""
    return head.lstrip().startswith("{") and '_startup_percentiles"' in head and NAME.search(head) is not None


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a file; raises ImportRefusedError."""
    load = load_of_result(dict_of(source.json()), ticket)
    if not load.rows:
        raise ImportRefusedError(f"{source.name} is of {TOOL}, but has no result.")
    return [load]


def load_of_result(result: Mapping[str, Any], ticket: Ticket) -> LoadBuilder:
    """Return the load of the values that the benchmark writes."""
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date)
    for name, average in result.items():
        match = NAME.fullmatch(name)
        if match is None:
            continue
        phase, quantity = match["phase"], match["what"].replace("_", " ")
        seconds = [value for value in map(number, list_of(result.get(f"{match['key']}_times"))) if value is not None]
        sd = stdev(seconds) if len(seconds) > 1 else None
        _add(load, phase, quantity, "mean", average, n=len(seconds) or None, sd=sd)
        for percent, value in dict_of(result.get(f"{match['key']}_percentiles")).items():
            _add(load, phase, quantity, percentile_name(percent), value, n=len(seconds) or None)
    return load


def _add(
    load: LoadBuilder,
    phase: str,
    quantity: str,
    statistic: str,
    value: Any,
    n: int | None = None,
    sd: float | None = None,
) -> None:
    metric = METRICS.get(quantity, STATED)
    name = f"{phase.lower()} start" if metric != STATED else f"{phase.lower()} start: {quantity} time"
    unit = "s" if metric == STATED else None
    load.result(MeasurementPoint(name), metric, statistic, value, n=n, sd=sd, unit=unit)


# --- printed ----------------------------------------------------------------------------------------------------------
def has_printed(content: str) -> bool:
    """Return whether a text contains the printed result of a start-up."""
    return " STARTUP:" in content and any(True for _ in _blocks(content.splitlines()))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each printed result of a text, and the text with their lines left empty."""
    return read_blocks(content, _blocks, PROGRAM, _printed_load, ticket, first_number)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the results: the title, the phases and what stands below them, up to a line of another form."""
    for start, end in blocks_among(lines, _is_opening, _is_following):
        if any(AVERAGE.fullmatch(line[:120]) for line in lines[start:end]):
            yield start, end


def _is_opening(line: str) -> bool:
    return any(pattern.fullmatch(line[:80]) for pattern in (TITLE, PHASE))


def _is_following(line: str) -> bool:
    patterns = (RULE, PHASE, AVERAGE, PERCENTILES, PERCENTILE)
    return not line.strip() or any(pattern.fullmatch(line[:120]) for pattern in patterns)


def _printed_load(block: PrintedBlock, ticket: Ticket, number: int) -> LoadBuilder:
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=number, model=model_of(block.command))
    phase, quantity = "cold", "startup"
    for line in block.lines:
        if match := PHASE.fullmatch(line):
            phase = match["phase"]
        elif match := PERCENTILES.fullmatch(line):
            quantity = match["what"].lower()
        elif match := AVERAGE.fullmatch(line):
            _add(load, phase, match["what"], "mean", float(match["seconds"]))
        elif match := PERCENTILE.fullmatch(line):
            _add(load, phase, quantity, percentile_name(match["percent"]), float(match["seconds"]))
    return load
