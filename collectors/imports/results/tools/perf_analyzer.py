"""Reads what Triton's perf_analyzer prints: one load per measurement, a point per level. Its times are microseconds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED, percentile_name
from collectors.imports.results.tools.http_testers import assumption_note
from collectors.imports.results.tools.printed_block import PrintedBlock, blocks_among, model_of, read_blocks

TOOL = "perf_analyzer"
PROGRAM = re.compile(r"\bperf_(?:analyzer|client)\b")
NUMBER = r"\d{1,12}(?:\.\d{1,9})?"
LEVEL = re.compile(
    rf"\s{{0,12}}(?:Request concurrency: (?P<level>\d{{1,6}})|Request Rate: (?P<rate>{NUMBER}) .{{0,60}})\s*"
)
COUNT = re.compile(r"\s{0,12}Request count: (?P<count>\d{1,12})\s*")
SPEED = re.compile(rf"\s{{0,12}}Throughput: (?P<speed>{NUMBER}) infer/sec\s*")
LATENCY = re.compile(
    rf"\s{{0,12}}(?:(?P<mean>Avg) latency|p(?P<percent>\d{{1,2}}) latency|Avg (?P<other>[\w/ ]{{2,40}}) time): "
    rf"(?P<time>{NUMBER}) usec(?: \(.{{0,160}}\))?\s*"
)
CURVE = re.compile(
    r"\s{0,12}(?:Inferences/Second vs\. Client .{1,60}"
    rf"|(?:Concurrency|Request Rate): {NUMBER}, throughput: {NUMBER} infer/sec, latency {NUMBER} usec)\s*"
)
UNREAD = re.compile(
    r"\s{0,12}(?:Client|Server|Inference count|Execution count|Successful request count)\b.{0,200}|\s{0,40}"
)


def has_printed(content: str) -> bool:
    """Return whether a text contains such a measurement."""
    return " infer/sec" in content and any(True for _ in _blocks(content.splitlines()))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each measurement of a text, and the text with its lines left empty."""
    return read_blocks(content, _blocks, PROGRAM, _load_of, ticket, first_number)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the runs of levels, with the curve that repeats them below."""
    for start, end in blocks_among(lines, lambda line: LEVEL.fullmatch(line[:200]) is not None, _is_following):
        if any(SPEED.fullmatch(line[:200]) for line in lines[start:end]):
            yield start, end


def _is_following(line: str) -> bool:
    return any(pattern.fullmatch(line[:300]) for pattern in (LEVEL, COUNT, SPEED, LATENCY, CURVE, UNREAD))


def _load_of(block: PrintedBlock, ticket: Ticket, number: int) -> LoadBuilder:
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=number, model=model_of(block.command))
    load.notes.append(assumption_note(TOOL))
    point = MeasurementPoint("all requests")
    for line in block.lines:
        if match := LEVEL.fullmatch(line):
            level = int(match["level"]) if match["level"] else None
            point = MeasurementPoint(f"{level} at once" if level else f"{match['rate']} requests/s", level)
        elif match := COUNT.fullmatch(line):
            load.result(point, "requests", "total", int(match["count"]))
        elif match := SPEED.fullmatch(line):
            load.result(point, "request_tps", "mean", float(match["speed"]))
        elif match := LATENCY.fullmatch(line):
            _add_latency(load, point, match)
    return load


def _add_latency(load: LoadBuilder, point: MeasurementPoint, match: re.Match[str]) -> None:
    time_us = float(match["time"])
    if match["other"]:
        named_point = point._replace(name=f"{point.name}: {match['other']} time")
        load.result(named_point, STATED, "mean", time_us, factor=1e-3, unit="ms")
    else:
        statistic = "mean" if match["mean"] else percentile_name(match["percent"])
        load.result(point, "e2e_ms", statistic, time_us, factor=1e-3)
