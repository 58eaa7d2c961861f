"""Reads the reports of optimum-benchmark: JSON, and the Markdown and the text of the same (in any text).

It times its parts apart: the load of the model, the prompt's pass, the steps behind it. Its deviations divide by n.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools.printed import number_or_text
from collectors.imports.results.tools.printed_block import without_blocks
from collectors.imports.results.values import count, dict_of, text

TOOL = "optimum-benchmark"
LATENCIES = {  # of a part in seconds -> metric and factor; those of its tokens include the prompt's pass
    "load_model": ("model_load_s", 1.0),
    "prefill": ("prompt_ms", 1e3),
    "decode": ("decode_ms", 1e3),
    "per_token": (STATED, 1.0),
}
SPEEDS = {("decode", "tokens/s"): "batch_decode_tps"}
STATISTICS = {"mean": "mean", "p50": "median", "p90": "p90", "p95": "p95", "p99": "p99"}
NO_UNITS = ("-", "%")  # of the count and of the deviation's share
NEEDED = ('"latency"', '"stdev_"')
SECTION = re.compile(rf"(?:(?:#|\+|-) )?(?P<part>{'|'.join(LATENCIES)}):\s*")
MEASURE = re.compile(r"(?:## |\s{1,8}(?:[+-] )?)(?P<measure>\w{1,40}):\s*")  # of the text, below its part
STATED_VALUE = re.compile(  # of the text: '+ mean: 0.0265 (s)', 'max_ram (MB): 1404.12'
    r"\s{2,16}(?:[+-] )?(?P<name>\w{1,40})(?: \((?P<unit>[^\s()]{1,20})\))?: {1,9}(?P<value>\d{1,18}(?:\.\d{1,18})?)"
    r"(?: \((?P<late_unit>[^\s()]{1,20})\))?\s*"
)
ROW = re.compile(
    r"\| {0,9}(?P<name>\w{1,40}) {0,20}\| {0,20}(?P<value>\d{1,18}(?:\.\d{1,18})?) {0,20}\|"
    r" {0,9}(?P<unit>[^\s|]{1,20}) {0,9}\|\s*"
)
TABLE_LINE = re.compile(r"\s*|\|[\s|:-]{1,80}|\| {0,9}metric {0,20}\|.{0,60}")


def recognise(head: str) -> bool:
    """Return whether JSON begins so and is such a report, alone or below its configuration."""
    is_report = all(name in head for name in NEEDED) and any(f'"{part}"' in head for part in LATENCIES)
    return head.lstrip().startswith("{") and is_report


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a report; raises ImportRefusedError if it timed no part of a model's answer."""
    value = dict_of(source.json())
    backend = dict_of(dict_of(value.get("config")).get("backend"))
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, model=text(backend.get("model")))
    _add(load, dict_of(value.get("report")) or value)
    if not load.rows:
        raise ImportRefusedError(f"{source.name} is a report of {TOOL}, but times no part of a model's answer.")
    return [load]


def has_printed(content: str) -> bool:
    """Return whether a text contains the Markdown or the text of a report."""
    return any(_blocks(content.splitlines()))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each report of a text, and the text with their lines left empty."""
    lines = content.splitlines()
    blocks = _blocks(lines)
    loads = []
    for number, (start, end) in enumerate(blocks, first_number):
        load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=number, line=start + 1)
        _add(load, _report_in(lines[start:end]))
        loads.append(load)
    return loads, without_blocks(lines, blocks)


def _blocks(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Return where the reports among the lines begin and end: sections of one behind the other with their tables."""
    blocks: list[tuple[int, int]] = []
    start: int | None = None
    for index, line in enumerate([*lines, "end"]):
        is_of_report = any(
            pattern.fullmatch(line[:200]) for pattern in (SECTION, MEASURE, ROW, STATED_VALUE, TABLE_LINE)
        )
        if start is None and SECTION.fullmatch(line[:200]):
            start = index
        elif start is not None and not is_of_report:
            blocks += [(start, index)] if _states_statistics(lines[start:index]) else []
            start = None
    return blocks


def _states_statistics(lines: Sequence[str]) -> bool:
    """Return whether lines have a table, or the share that only this tool calls 'stdev_'."""
    stated_values = filter(None, map(STATED_VALUE.fullmatch, lines))
    return any(map(ROW.fullmatch, lines)) or any(match["name"] == "stdev_" for match in stated_values)


def _report_in(lines: Sequence[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the values of a printed report as its JSON has them."""
    report: dict[str, dict[str, dict[str, Any]]] = {}
    part, measure = "", ""
    for line in lines:
        if match := SECTION.fullmatch(line):
            part, measure = match["part"], ""
        elif match := MEASURE.fullmatch(line):
            measure = match["measure"]
        elif measure and (match := ROW.fullmatch(line) or STATED_VALUE.fullmatch(line)):
            values = report.setdefault(part, {}).setdefault(measure, {})
            unit = match["unit"] or match.groupdict().get("late_unit")
            values |= {"unit": unit} if unit not in (None, *NO_UNITS) else {}
            values["value" if match["name"] == measure else match["name"]] = number_or_text(match["value"])
    return report


def _add(load: LoadBuilder, report: Mapping[str, Any]) -> None:
    for part in LATENCIES:
        measures = dict_of(report.get(part))
        latency, throughput, memory = (dict_of(measures.get(name)) for name in ("latency", "throughput", "memory"))
        if latency.get("unit") == "s":
            _add_latencies(load, part, latency)
        speed, unit = throughput.get("value"), text(throughput.get("unit"))
        if speed is not None and unit:
            metric = SPEEDS.get((part, unit), STATED)
            load.result(
                MeasurementPoint(f"{part}: throughput"), metric, "mean", speed, unit=unit if metric == STATED else None
            )
        for name, value in memory.items():
            if name.startswith("max_") and value is not None:
                load.result(
                    MeasurementPoint(f"{part}: {name}"), STATED, "max", value, unit=text(memory.get("unit")) or "MB"
                )


def _add_latencies(load: LoadBuilder, part: str, latency: Mapping[str, Any]) -> None:
    metric, factor = LATENCIES[part]
    for name, statistic in STATISTICS.items():
        if name in latency:
            load.result(
                MeasurementPoint(part), metric, statistic, latency[name], factor=factor, n=count(latency.get("count")),
                population_sd=latency.get("stdev") if name == "mean" else None, unit="s" if metric == STATED else None,
            )  # fmt: skip
