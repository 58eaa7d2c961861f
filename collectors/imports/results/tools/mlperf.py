"""Reads the summary of MLPerf's LoadGen (`mlperf_log_summary.txt`). Its latencies are in nanoseconds."""

from __future__ import annotations

import re

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools.printed import PrintedLine, add_unknown, printed_line, printed_text
from collectors.imports.results.values import text

TOOL = "MLPerf LoadGen"
TITLES = ("MLPerf Results Summary", "Additional Stats", "Test Parameters Used")
PARAMETERS = TITLES[2]
METRICS = {
    "samples per second": ("request_tps", "mean"),
    "completed samples per second": ("request_tps", "mean"),
    "tokens per second": ("output_tps", "mean"),
    "completed tokens per second": ("output_tps", "mean"),
}
LATENCIES = {"latency": "e2e_ms", "first token latency": "ttft_ms", "time to output token": "tpot_ms"}
LATENCY = re.compile(
    r"(?:(?P<edge>min|max|mean)|(?P<percent>\d{1,3}(?:\.\d{1,4})?)(?:th)? percentile) "
    rf"(?P<what>{'|'.join(LATENCIES)})"
)
MARK = re.compile(r"latency \(ns\)\s*:|samples per second|Test Parameters Used", re.IGNORECASE)
UNITS = {
    "scheduled samples per second": "samples/s",
    "qps w/ loadgen overhead": "queries/s",
    "qps w/o loadgen overhead": "queries/s",
    "tokens per second": "tok/s",
    "completed tokens per second": "tok/s",
}


def recognise(head: str) -> bool:
    """Return whether a text has at least one title of the summary under its rule, and figures of LoadGen."""
    lines = head.splitlines()
    has_title = any(
        line.strip() in TITLES and index > 0 and lines[index - 1].startswith("=====")
        for index, line in enumerate(lines)
    )
    return has_title and MARK.search(head) is not None


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a summary; raises ImportRefusedError if it has no result."""
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date)
    title = None
    parts: list[PrintedLine] = []
    for number, line in enumerate(printed_text(source).splitlines(), 1):
        title = line.strip() if line.strip() in TITLES else title
        printed = printed_line(number, line) if title else None
        if printed and title == PARAMETERS:
            load.params[printed.label] = printed.value
        elif printed:
            parts.append(printed)
    point = MeasurementPoint("all requests")
    scenario = next((line.value for line in parts if line.name == "scenario"), None)
    point = point._replace(name=str(scenario)[:60]) if scenario else point
    for printed in parts:
        _add_line(load, point, printed)
    if not load.rows:
        raise ImportRefusedError(f"{source.name} is a summary of MLPerf's LoadGen, but has no result.")
    if text(load.params.get("Result is")) == "INVALID":
        load.notes.append("LoadGen calls this result INVALID.")
    return [load]


def _add_line(load: LoadBuilder, point: MeasurementPoint, line: PrintedLine) -> None:
    latency = LATENCY.fullmatch(line.name)
    inferred_or_scheduled = line.name.removesuffix(" (inferred)")
    if line.name in METRICS and line.unit is None:
        metric, statistic = METRICS[line.name]
        load.result(point, metric, statistic, line.value)
    elif latency and line.unit == "ns":
        metric, statistic = LATENCIES[latency["what"]], _statistic(latency)
        if not any((row.metric, row.statistic) == (metric, statistic) for row in load.result_rows):
            load.result(point, metric, statistic, line.value, factor=1e-6)
    elif inferred_or_scheduled in UNITS:  # not measured: offered, or inferred of the samples
        add_unknown(load, point, line._replace(unit=UNITS[inferred_or_scheduled]))
    else:
        add_unknown(load, point, line)


def _statistic(latency: re.Match[str]) -> str:
    if latency["percent"] is None:
        return latency["edge"]
    percent = f"{float(latency['percent']):g}"
    return "median" if percent == "50" else f"p{percent}"
