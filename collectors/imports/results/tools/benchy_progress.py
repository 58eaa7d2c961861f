"""Reads llama-benchy's progress file: JSON lines (schema llama-benchy-progress.v1) of every request's events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.errors import error_kind
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools.benchy import TOOL, point_of
from collectors.imports.results.values import count, dict_of, number, scaled, text, time_of

SCHEMA = "llama-benchy-progress.v1"
NO_END = "the file is cut off before the end of this request"


@dataclass
class RequestEvents:
    """Events of one request."""

    start: Mapping[str, Any]
    line: int
    first: Mapping[str, Any] = field(default_factory=dict)
    end: Mapping[str, Any] = field(default_factory=dict)
    pieces: int = 0

    @property
    def sent_s(self) -> float:
        return float(self.start["ts"])


def recognise(head: str) -> bool:
    """Return whether a file has the first bytes of a progress file."""
    return f'"schema":"{SCHEMA}"' in head[:500].replace('": "', '":"')


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a file; a truncated file has the requests up to its end. Raises ImportRefusedError."""
    heads, rows = _requests(source)
    version = text(heads.get("header", {}).get("llama_benchy_version"))
    load = LoadBuilder(
        ticket, TOOL, version, f"{TOOL} progress", time_of(rows[0].sent_s) or ticket.file_date,
        params={"latency": dict(heads.get("latency_measured", {}))}, planned_requests=len(rows),
        model=text(rows[0].start.get("model")), base_url=text(rows[0].start.get("base_url")),
    )  # fmt: skip
    _add_rows(load, heads, rows)
    return [load]


def add_requests(load: LoadBuilder, source: ResultFile) -> None:
    """Add the requests of the progress file of the load's results; raises ImportRefusedError."""
    heads, rows = _requests(source)
    load.ts = min(load.ts, time_of(rows[0].sent_s) or load.ts)
    load.base_url = text(rows[0].start.get("base_url"))
    _add_rows(load, heads, rows)


def _requests(source: ResultFile) -> tuple[dict[str, Mapping[str, Any]], list[RequestEvents]]:
    """Return the header lines by kind, and the requests in the order in which they were sent."""
    heads: dict[str, Mapping[str, Any]] = {}
    requests: dict[int, RequestEvents] = {}
    for line, value in source.json_lines():
        _read_line(source, line, dict_of(value), heads, requests)
    if not requests:
        raise ImportRefusedError(f"{source.name} has no request.")
    return heads, sorted(requests.values(), key=lambda request: request.sent_s)


def _add_rows(load: LoadBuilder, heads: Mapping[str, Mapping[str, Any]], rows: list[RequestEvents]) -> None:
    if heads.get("bench_complete", {}).get("status") != "ok":
        load.notes.append("The file does not report a successful end.")
    for level_index, (_, group) in enumerate(groupby(rows, key=_level)):
        _add_level(load, level_index, list(group))


def _read_line(
    source: ResultFile,
    line: int,
    row: Mapping[str, Any],
    heads: dict[str, Mapping[str, Any]],
    requests: dict[int, RequestEvents],
) -> None:
    kind, request_id = text(row.get("type")), count(row.get("request_id"))
    if row.get("schema") != SCHEMA or kind is None:
        raise source.refusal(line, "this is not a line of llama-benchy's progress file")
    if kind in ("header", "latency_measured", "bench_complete"):
        heads[kind] = row
    elif kind == "request_start" and request_id is not None and time_of(row.get("ts")):
        requests[request_id] = RequestEvents(row, line)
    elif request_id in requests:
        _add_event(requests[request_id], kind, row)


def _add_event(request: RequestEvents, kind: str, row: Mapping[str, Any]) -> None:
    if kind == "request_first_token":
        request.first = row
    elif kind == "request_end":
        request.end = row
    elif kind == "tokens":
        request.pieces += 1


def _level(request: RequestEvents) -> tuple[Any, ...]:
    return tuple(request.start.get(name) for name in ("prompt_size", "response_size", "context_size", "concurrency"))


def _point(request: RequestEvents) -> MeasurementPoint:
    prompt, output, depth, concurrency = map(count, _level(request))
    return point_of(
        prompt, output, depth or 0, concurrency or 1, is_context="ctx" in str(request.start.get("target_label"))
    )


def _add_level(load: LoadBuilder, level_index: int, rows: list[RequestEvents]) -> None:
    point = _point(rows[0])
    started_at = time_of(rows[0].sent_s) or load.ts
    for sequence, request in enumerate(rows):
        _add_request(load, level_index, sequence, request, point, started_at)
    ended_at = time_of(max(number(request.end.get("ts")) or request.sent_s for request in rows)) or started_at
    load.phase(
        ts=ended_at, phase_index=level_index, title=point.name, kind="measure", concurrency=point.concurrency or 1,
        began_at=started_at, duration_s=(ended_at - started_at).total_seconds(), planned_requests=len(rows),
        is_complete=all(request.end for request in rows),
    )  # fmt: skip


def _add_request(
    load: LoadBuilder,
    level_index: int,
    sequence: int,
    request: RequestEvents,
    point: MeasurementPoint,
    started_at: datetime,
) -> None:
    error_text = text(request.end.get("error")) or (None if request.end else NO_END)
    kind = "cancelled" if load.ticket.is_cut and error_text == NO_END else error_kind(error_text)
    ended_s = number(request.end.get("ts"))
    sent_at = time_of(request.sent_s) or started_at
    load.request(
        phase="measure", prompt_class=f"pp{point.prompt_tokens}", stream=0, concurrency=point.concurrency or 1,
        sent_at=sent_at, since_phase_s=(sent_at - started_at).total_seconds(),
        phase_index=level_index, sequence=sequence,
        ttft_ms=scaled(request.first.get("ttft_s"), 1e3),
        total_ms=None if ended_s is None or error_text else 1e3 * (ended_s - request.sent_s),
        decode_ms=None if error_text else scaled(request.end.get("decode_seconds"), 1e3),
        prompt_tokens=count(request.end.get("prompt_tokens")) or point.prompt_tokens,
        completion_tokens=None if error_text else count(request.end.get("total_tokens")), chunks=request.pieces or None,
        error_kind=kind if error_text else None, error_text=error_text,
        extra={"run_index": request.start.get("run_index")},
    )  # fmt: skip
