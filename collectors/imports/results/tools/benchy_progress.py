"""llama-benchy's progress file: JSON lines (schema llama-benchy-progress.v1) of what every request did, when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, Point, Ticket
from collectors.imports.results.errors import error_kind
from collectors.imports.results.source import Source
from collectors.imports.results.tools.benchy import TOOL, point_of
from collectors.imports.results.values import count, dict_of, moment, number, scaled, text

SCHEMA = "llama-benchy-progress.v1"
UNENDED = "it is cut off: no end of this request is told"


@dataclass
class Sent:
    """What the file says of one request."""

    start: Mapping[str, Any]
    line: int
    first: Mapping[str, Any] = field(default_factory=dict)
    end: Mapping[str, Any] = field(default_factory=dict)
    pieces: int = 0

    @property
    def sent_s(self) -> float:
        return float(self.start["ts"])


def recognise(head: str) -> bool:
    """Whether a file begins as one of these does."""
    return f'"schema":"{SCHEMA}"' in head[:500].replace('": "', '":"')


def read(source: Source, ticket: Ticket) -> list[LoadBuilder]:
    """The load of a file; one that was broken off has the requests up to there. Raises ImportRefusedError."""
    heads, rows = _requests(source)
    version = text(heads.get("header", {}).get("llama_benchy_version"))
    load = LoadBuilder(
        ticket, TOOL, version, f"{TOOL} progress", moment(rows[0].sent_s) or ticket.dated,
        params={"latency": dict(heads.get("latency_measured", {}))}, planned_requests=len(rows),
        model=text(rows[0].start.get("model")), base_url=text(rows[0].start.get("base_url")),
    )  # fmt: skip
    _add_rows(load, heads, rows)
    return [load]


def add_requests(load: LoadBuilder, source: Source) -> None:
    """The requests of a progress file that was written beside the load's results; raises ImportRefusedError."""
    heads, rows = _requests(source)
    load.ts = min(load.ts, moment(rows[0].sent_s) or load.ts)
    load.base_url = text(rows[0].start.get("base_url"))
    _add_rows(load, heads, rows)


def _requests(source: Source) -> tuple[dict[str, Mapping[str, Any]], list[Sent]]:
    """What it says of the whole, and the requests in the order in which they were sent."""
    heads: dict[str, Mapping[str, Any]] = {}
    requests: dict[int, Sent] = {}
    for line, value in source.json_lines():
        _take(source, line, dict_of(value), heads, requests)
    if not requests:
        raise ImportRefusedError(f"{source.name} tells of no request.")
    return heads, sorted(requests.values(), key=lambda one: one.sent_s)


def _add_rows(load: LoadBuilder, heads: Mapping[str, Mapping[str, Any]], rows: list[Sent]) -> None:
    if heads.get("bench_complete", {}).get("status") != "ok":
        load.notes.append("It does not say that it ended well.")
    for place, (_, group) in enumerate(groupby(rows, key=_level)):
        _add_level(load, place, list(group))


def _take(
    source: Source, line: int, row: Mapping[str, Any], heads: dict[str, Mapping[str, Any]], requests: dict[int, Sent]
) -> None:
    kind, number_of = text(row.get("type")), count(row.get("request_id"))
    if row.get("schema") != SCHEMA or kind is None:
        raise source.refusal(line, "this is no line of llama-benchy's progress")
    if kind in ("header", "latency_measured", "bench_complete"):
        heads[kind] = row
    elif kind == "request_start" and number_of is not None and moment(row.get("ts")):
        requests[number_of] = Sent(row, line)
    elif number_of in requests:
        _add_event(requests[number_of], kind, row)


def _add_event(one: Sent, kind: str, row: Mapping[str, Any]) -> None:
    if kind == "request_first_token":
        one.first = row
    elif kind == "request_end":
        one.end = row
    elif kind == "tokens":
        one.pieces += 1


def _level(one: Sent) -> tuple[Any, ...]:
    return tuple(one.start.get(name) for name in ("prompt_size", "response_size", "context_size", "concurrency"))


def _point(one: Sent) -> Point:
    prompt, output, depth, at_once = map(count, _level(one))
    return point_of(prompt, output, depth or 0, at_once or 1, is_context="ctx" in str(one.start.get("target_label")))


def _add_level(load: LoadBuilder, place: int, rows: list[Sent]) -> None:
    point = _point(rows[0])
    began = moment(rows[0].sent_s) or load.ts
    for sequence, one in enumerate(rows):
        _add_request(load, place, sequence, one, point, began)
    ended = moment(max(number(one.end.get("ts")) or one.sent_s for one in rows)) or began
    load.phase(
        ts=ended, phase_index=place, title=point.name, kind="measure", concurrency=point.concurrency or 1,
        began_at=began, duration_s=(ended - began).total_seconds(), planned_requests=len(rows),
        is_complete=all(one.end for one in rows),
    )  # fmt: skip


def _add_request(load: LoadBuilder, place: int, sequence: int, one: Sent, point: Point, began: datetime) -> None:
    said = text(one.end.get("error")) or (None if one.end else UNENDED)
    kind = "cancelled" if load.ticket.is_cut and said == UNENDED else error_kind(said)
    ended_s = number(one.end.get("ts"))
    sent = moment(one.sent_s) or began
    load.request(
        phase="measure", prompt_class=f"pp{point.prompt_tokens}", stream=0, concurrency=point.concurrency or 1,
        sent_at=sent, since_phase_s=(sent - began).total_seconds(), phase_index=place, sequence=sequence,
        ttft_ms=scaled(one.first.get("ttft_s"), 1e3),
        total_ms=None if ended_s is None or said else 1e3 * (ended_s - one.sent_s),
        decode_ms=None if said else scaled(one.end.get("decode_seconds"), 1e3),
        prompt_tokens=count(one.end.get("prompt_tokens")) or point.prompt_tokens,
        completion_tokens=None if said else count(one.end.get("total_tokens")), chunks=one.pieces or None,
        error_kind=kind if said else None, error_text=said,
        extra={"run_index": one.start.get("run_index")},
    )  # fmt: skip
