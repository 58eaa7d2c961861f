"""Reads the reports of vegeta: the lines that `vegeta report` prints, in any text, and its JSON.

The printed durations are written as Go writes them; in JSON they are nanoseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import percentile_name
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools.go_durations import seconds_of
from collectors.imports.results.tools.http_testers import assumption_note
from collectors.imports.results.tools.printed import number_or_text
from collectors.imports.results.tools.printed_block import PrintedBlock, blocks_among, read_blocks
from collectors.imports.results.values import count, dict_of, number, scaled, time_of_text

TOOL = "vegeta"
PROGRAM = re.compile(r"\bvegeta (?:attack|report)\b")
LINE = re.compile(
    r"\s{0,12}(?P<name>Requests|Duration|Latencies|Bytes (?:In|Out)|Success|Status Codes) {1,40}"
    r"\[(?P<heads>[^\]]{1,80})\] {1,40}(?P<cells>\S.{0,300})"
)
MAX_LINE_CHARS = 400
NEEDED = ('"latencies"', '"50th"', '"status_codes"')
STATISTIC = re.compile(r"(?P<percent>\d{2}(?:\.\d{1,3})?)(?:th)?")
STATISTICS = ("mean", "min", "max")
POINT = MeasurementPoint("all requests")


# --- JSON -------------------------------------------------------------------------------------------------------------
def recognise(head: str) -> bool:
    """Return whether JSON begins so and has the names of such a report."""
    return head.lstrip().startswith("{") and all(name in head for name in NEEDED)


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a report; raises ImportRefusedError if no request was timed."""
    report = dict_of(source.json())
    load = LoadBuilder(ticket, TOOL, None, TOOL, time_of_text(report.get("earliest")) or ticket.file_date)
    attack_s, wait_s = (scaled(report.get(name), 1e-9) for name in ("duration", "wait"))
    duration_s = None if attack_s is None or wait_s is None else attack_s + wait_s
    latencies_s = {name: scaled(value, 1e-9) for name, value in dict_of(report.get("latencies")).items()}
    _add(load, report, duration_s, number(report.get("success")), latencies_s)
    if not load.rows:
        raise ImportRefusedError(f"{source.name} is a report of vegeta, but has no request.")
    return [load]


# --- printed ----------------------------------------------------------------------------------------------------------
def has_printed(content: str) -> bool:
    """Return whether a text contains a printed report."""
    names = {match["name"] for line in content.splitlines() if "[" in line and (match := _match(line))}
    return {"Requests", "Latencies"} <= names


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each report of a text, and the text with their lines left empty."""
    return read_blocks(content, _blocks, PROGRAM, _load_of, ticket, first_number)


def _match(line: str) -> re.Match[str] | None:
    return LINE.fullmatch(line[:MAX_LINE_CHARS].rstrip())


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    return blocks_among(lines, _is_opening, lambda line: not _is_opening(line) and _match(line) is not None)


def _is_opening(line: str) -> bool:
    match = _match(line)
    return match is not None and match["name"] == "Requests"


def _load_of(block: PrintedBlock, ticket: Ticket, number_of_load: int) -> LoadBuilder:
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=number_of_load)
    cells = {match["name"]: _cells_of(match) for line in block.lines if (match := _match(line))}
    requests = {head: number_or_text(cell) for head, cell in cells.get("Requests", {}).items()}
    totals = {"requests": requests.get("total"), "rate": requests.get("rate"), "throughput": requests.get("throughput")}
    share = number(number_or_text(cells.get("Success", {}).get("ratio", "").removesuffix("%")))
    duration_s = seconds_of(cells.get("Duration", {}).get("total", ""))
    latencies_s = {head: seconds_of(cell) for head, cell in cells.get("Latencies", {}).items()}
    _add(load, totals, duration_s, None if share is None else share / 100, latencies_s)
    return load


def _cells_of(match: re.Match[str]) -> dict[str, str]:
    heads, cells = (match[name].split(",") for name in ("heads", "cells"))
    return {head.strip(): cell.strip() for head, cell in zip(heads, cells, strict=False)}


# --- both -------------------------------------------------------------------------------------------------------------
def _add(
    load: LoadBuilder, totals: Mapping[str, Any], duration_s: float | None, success: float | None,
    latencies_s: Mapping[str, float | None],
) -> None:  # fmt: skip
    """Add a report's counts, duration, rate of successes and latencies; the rate at which it sent is a setting."""
    sent_requests = count(totals.get("requests"))
    if sent_requests:
        if success is not None and success <= 1:
            load.result(POINT, "requests", "total", round(sent_requests * success))
            load.result(POINT, "failed_requests", "total", sent_requests - round(sent_requests * success))
        load.notes.append(assumption_note(TOOL))
        load.params |= {"rate": totals["rate"]} if totals.get("rate") is not None else {}
        load.result(POINT, "request_tps", "mean", totals.get("throughput"))
        if duration_s is not None:
            load.result(POINT, "duration_s", "total", duration_s)
    for name, seconds in latencies_s.items() if load.rows else ():
        match = STATISTIC.fullmatch(name)
        statistic = percentile_name(match["percent"]) if match else name
        if match or name in STATISTICS:
            load.result(POINT, "e2e_ms", statistic, seconds, factor=1e3)
