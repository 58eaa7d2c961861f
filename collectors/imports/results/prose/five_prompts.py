"""Reads the printed output of the five prompts: two sequential rounds of five classes, then concurrent requests."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from statistics import fmean, pstdev
from typing import NamedTuple

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import sample_sd

TOOL = "five prompts, printed"
HEAD = re.compile(r"Benchmark: (?P<name>.{1,100}?)(?: — (?P<when>\d{4}-\d{2}-\d{2} \d{2}:\d{2}))?[ \t]*$", re.MULTILINE)
REQUEST_LINE = re.compile(
    r"^[ \t]*\[(?P<title>[^\]\n]{1,40}?) *\] +(?P<tokens>\d{1,9}) tokens(?: in (?P<seconds>\d{1,9}(?:\.\d{1,6})?)s)? = "
    r"(?P<tps>\d{1,9}(?:\.\d{1,6})?) tok/s(?P<e2e> \(end-to-end\))?[ \t]*$",
    re.MULTILINE,
)
TOTAL = re.compile(r"^Total: (?P<tokens>\d{1,9}) tokens in (?P<seconds>\d{1,9}(?:\.\d{1,6})?)s[ \t]*$", re.MULTILINE)
THROUGHPUT = re.compile(r"^Total throughput: (?P<tps>\d{1,9}(?:\.\d{1,6})?) tok/s", re.MULTILINE)
TIME_NOTE = {"sent_at": "not in the text: the time of its start"}


class PrintedRequest(NamedTuple):
    """One printed line about one request."""

    title: str
    tokens: int
    seconds: float | None
    tps: float


def recognise(text: str) -> bool:
    """Return whether a text has such lines."""
    return len(REQUEST_LINE.findall(text)) >= 2


def read(text: str, ticket: Ticket, number: int) -> LoadBuilder:
    """Return the load of a text's lines."""
    head = HEAD.search(text)
    load = LoadBuilder(
        ticket, TOOL, None, TOOL, _started_at(head, ticket), number=number, model=head["name"] if head else None
    )
    lines = [(_parse_line(match), match["e2e"] is not None) for match in REQUEST_LINE.finditer(text)]
    sequential, concurrent = [line for line, is_e2e in lines if not is_e2e], [line for line, is_e2e in lines if is_e2e]
    load.planned_requests = len(lines)
    _add_sequential(load, sequential)
    _add_concurrent(load, concurrent, TOTAL.search(text), THROUGHPUT.search(text))
    return load


def _started_at(head: re.Match[str] | None, ticket: Ticket) -> datetime:
    """Return the printed time; it has no time zone, so this machine's is assumed."""
    try:
        return datetime.strptime(head["when"], "%Y-%m-%d %H:%M").astimezone(UTC) if head else ticket.file_date
    except (TypeError, ValueError):
        return ticket.file_date


def _parse_line(match: re.Match[str]) -> PrintedRequest:
    seconds = match["seconds"]
    return PrintedRequest(
        match["title"], int(match["tokens"]), float(seconds) if seconds else None, float(match["tps"])
    )


def _add_sequential(load: LoadBuilder, lines: Iterable[PrintedRequest]) -> None:
    by_class: dict[str, list[PrintedRequest]] = {}
    for sequence, line in enumerate(lines):
        by_class.setdefault(line.title, []).append(line)
        _add_request(load, line, 0, sequence, 1)
    for title, class_lines in by_class.items():
        point = MeasurementPoint(
            f"class {title}",
            1,
            None,
            class_lines[0].tokens if len({line.tokens for line in class_lines}) == 1 else None,
        )
        rates = [line.tps for line in class_lines]
        sd, reason = sample_sd(pstdev(rates), len(rates))
        load.result(point, "e2e_tps", "mean", fmean(rates), n=len(rates), sd=sd, reasons=[reason] if reason else [])


def _add_concurrent(
    load: LoadBuilder, lines: list[PrintedRequest], total: re.Match[str] | None, throughput: re.Match[str] | None
) -> None:
    point = MeasurementPoint(f"{len(lines)} at once", len(lines) or None)
    for sequence, line in enumerate(lines):
        _add_request(load, line, 1, sequence, len(lines))
    if lines:
        rates = [line.tps for line in lines]
        sd, reason = sample_sd(pstdev(rates), len(rates))
        load.result(point, "e2e_tps", "mean", fmean(rates), n=len(rates), sd=sd, reasons=[reason] if reason else [])
    if total:
        load.result(point, "duration_s", "total", float(total["seconds"]))
        load.result(point, "completion_tokens", "total", int(total["tokens"]))
    if throughput:
        load.result(point, "output_tps", "mean", float(throughput["tps"]))


def _add_request(load: LoadBuilder, line: PrintedRequest, phase: int, sequence: int, concurrency: int) -> None:
    load.request(
        phase="measure", prompt_class=line.title, stream=sequence if concurrency > 1 else 0, concurrency=concurrency,
        sent_at=load.ts, phase_index=phase, sequence=sequence, completion_tokens=line.tokens,
        total_ms=None if line.seconds is None else 1e3 * line.seconds,
        extra=TIME_NOTE | {"stated_tps": line.tps},
    )  # fmt: skip
