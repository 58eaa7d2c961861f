"""Reads the CSV of hey and oha, which has a line for each request with its answer."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools.http_testers import assumption_note
from collectors.imports.results.tools.printed import number_or_text
from collectors.imports.results.tools.request_times import most_in_flight
from collectors.imports.results.values import after, count, number, scaled

FIRST_FAILURE = 400  # of HTTP's statuses


class RequestTable(NamedTuple):
    """The columns of a tool, and those with the start, the duration (both in seconds) and the status of a request."""

    name: str
    columns: tuple[str, ...]
    start: str
    duration: str
    status: str


TOOLS = (
    RequestTable(
        "hey",
        (
            "response-time", "DNS+dialup", "DNS", "Request-write", "Response-delay", "Response-read", "status-code",
            "offset",
        ),
        "offset", "response-time", "status-code",
    ),
    RequestTable(
        "oha", ("request-start", "DNS", "DNS+dialup", "Response-delay", "request-duration", "bytes", "status"),
        "request-start", "request-duration", "status",
    ),
)  # fmt: skip


def recognise(head: str) -> bool:
    """Return whether a file begins with the columns of one of the tools."""
    return _tool_of(head) is not None


def _tool_of(head: str) -> RequestTable | None:
    first_line = head.lstrip().partition("\n")[0].strip()
    return next((tool for tool in TOOLS if first_line == ",".join(tool.columns)), None)


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load with its requests; raises ImportRefusedError if it has none."""
    tool = _tool_of(source.head) or TOOLS[0]
    with source.refusing_bad_csv():
        rows = list(csv.DictReader(source.text().lstrip().splitlines()))
    requests = [row for row in rows if _is_complete(tool, row)]
    if not requests:
        raise ImportRefusedError(f"{source.name} has the columns of {tool.name}, but no complete row.")
    load = LoadBuilder(
        ticket, tool.name, None, tool.name, ticket.file_date, notes=[assumption_note(tool.name)],
        planned_requests=len(rows),
    )  # fmt: skip
    incomplete = len(rows) - len(requests)
    load.notes += [f"{incomplete:,} incomplete rows were left out."] if incomplete else []
    _add_requests(load, tool, sorted(requests, key=lambda row: _seconds(row[tool.start])))
    return [load]


def _add_requests(load: LoadBuilder, tool: RequestTable, rows: Sequence[Mapping[str, str]]) -> None:
    """Add the requests, whose times count from the beginning of the load."""
    concurrency = most_in_flight([(_seconds(row[tool.start]), _seconds(row[tool.duration])) for row in rows])
    for sequence, row in enumerate(rows):
        since_s = _seconds(row[tool.start])
        status = count(number_or_text(row[tool.status])) or None
        has_failed = status is not None and status >= FIRST_FAILURE
        load.request(
            phase="measure", prompt_class="-", stream=0, concurrency=concurrency, sent_at=after(load.ts, since_s),
            since_phase_s=since_s, phase_index=0, sequence=sequence, http_status=status,
            total_ms=None if has_failed else scaled(_seconds(row[tool.duration]), 1e3),
            error_kind="http" if has_failed else None, error_text=f"status {status}" if has_failed else None,
        )  # fmt: skip


def _is_complete(tool: RequestTable, row: Mapping[str, str | None]) -> bool:
    return all(number(number_or_text(row.get(name))) is not None for name in (tool.start, tool.duration, tool.status))


def _seconds(cell: str) -> float:
    return number(number_or_text(cell)) or 0.0
