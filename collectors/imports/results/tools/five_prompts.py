"""The printed text of the five prompts: two sequential rounds of five classes, then several requests at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from statistics import fmean, pstdev
from typing import NamedTuple

from collectors.imports.results.builder import LoadBuilder, Point, Ticket
from collectors.imports.results.metrics import sample_sd

TOOL = "five prompts, printed"
HEAD = re.compile(r"Benchmark: (?P<name>.{1,100}?)(?: — (?P<when>\d{4}-\d{2}-\d{2} \d{2}:\d{2}))?[ \t]*$", re.MULTILINE)
ONE = re.compile(
    r"^[ \t]*\[(?P<title>[^\]\n]{1,40}?) *\] +(?P<tokens>\d{1,9}) tokens(?: in (?P<seconds>\d{1,9}(?:\.\d{1,6})?)s)? = "
    r"(?P<tps>\d{1,9}(?:\.\d{1,6})?) tok/s(?P<e2e> \(end-to-end\))?[ \t]*$",
    re.MULTILINE,
)
TOTAL = re.compile(r"^Total: (?P<tokens>\d{1,9}) tokens in (?P<seconds>\d{1,9}(?:\.\d{1,6})?)s[ \t]*$", re.MULTILINE)
ALL = re.compile(r"^Total throughput: (?P<tps>\d{1,9}(?:\.\d{1,6})?) tok/s", re.MULTILINE)
NO_TIME = {"sent_at": "the text does not say when: that of its beginning"}


class Line(NamedTuple):
    """What one printed line says of one request."""

    title: str
    tokens: int
    seconds: float | None
    tps: float


def recognise(text: str) -> bool:
    """Whether a text holds such lines."""
    return len(ONE.findall(text)) >= 2


def read(text: str, ticket: Ticket, number: int) -> LoadBuilder:
    """The load that the lines of a text state."""
    head = HEAD.search(text)
    load = LoadBuilder(
        ticket, TOOL, None, TOOL, _when(head, ticket), number=number, model=head["name"] if head else None
    )
    lines = [(_line(found), found["e2e"] is not None) for found in ONE.finditer(text)]
    alone, together = [line for line, is_e2e in lines if not is_e2e], [line for line, is_e2e in lines if is_e2e]
    load.planned_requests = len(lines)
    _add_alone(load, alone)
    _add_together(load, together, TOTAL.search(text), ALL.search(text))
    return load


def _when(head: re.Match[str] | None, ticket: Ticket) -> datetime:
    """The minute that is printed is of this machine's zone, as far as anybody knows."""
    try:
        return datetime.strptime(head["when"], "%Y-%m-%d %H:%M").astimezone(UTC) if head else ticket.dated
    except (TypeError, ValueError):
        return ticket.dated


def _line(found: re.Match[str]) -> Line:
    seconds = found["seconds"]
    return Line(found["title"], int(found["tokens"]), float(seconds) if seconds else None, float(found["tps"]))


def _add_alone(load: LoadBuilder, lines: Iterable[Line]) -> None:
    by_class: dict[str, list[Line]] = {}
    for sequence, line in enumerate(lines):
        by_class.setdefault(line.title, []).append(line)
        _add_request(load, line, 0, sequence, 1)
    for title, same in by_class.items():
        point = Point(f"class {title}", 1, None, same[0].tokens if len({one.tokens for one in same}) == 1 else None)
        rates = [one.tps for one in same]
        sd, why = sample_sd(pstdev(rates), len(rates))
        load.result(point, "e2e_tps", "mean", fmean(rates), n=len(rates), sd=sd, reasons=[why] if why else [])


def _add_together(
    load: LoadBuilder, lines: list[Line], total: re.Match[str] | None, printed: re.Match[str] | None
) -> None:
    point = Point(f"{len(lines)} at once", len(lines) or None)
    for sequence, line in enumerate(lines):
        _add_request(load, line, 1, sequence, len(lines))
    if lines:
        rates = [one.tps for one in lines]
        sd, why = sample_sd(pstdev(rates), len(rates))
        load.result(point, "e2e_tps", "mean", fmean(rates), n=len(rates), sd=sd, reasons=[why] if why else [])
    if total:
        load.result(point, "duration_s", "total", float(total["seconds"]))
        load.result(point, "completion_tokens", "total", int(total["tokens"]))
    if printed:
        load.result(point, "output_tps", "mean", float(printed["tps"]))


def _add_request(load: LoadBuilder, line: Line, phase: int, sequence: int, at_once: int) -> None:
    load.request(
        phase="measure", prompt_class=line.title, stream=sequence if at_once > 1 else 0, concurrency=at_once,
        sent_at=load.ts, phase_index=phase, sequence=sequence, completion_tokens=line.tokens,
        total_ms=None if line.seconds is None else 1e3 * line.seconds,
        extra=NO_TIME | {"stated_tps": line.tps},
    )  # fmt: skip
