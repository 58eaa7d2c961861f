"""The questions about loads: what was asked of a server, what came of it, and who else worked meanwhile."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from analysis.conditions import Span
from analysis.evidence.loads import LoadRecord, load_records
from samples import Load, LoadCounters, LoadPhase, RequestRecord
from storage.ask.queries import Asked
from storage.ask.statements import statement

Kind = TypeVar("Kind")
JSON = ("sampling", "extra", "params")


class Beside(NamedTuple):
    """Another run whose server was up during a stretch of one; `gpu_uuids` as far as they were seen."""

    span: Span
    run_id: str
    worked: bool
    gpu_uuids: tuple[str, ...]


def loads(store: Asked, run_ids: Sequence[str]) -> dict[str, list[LoadRecord]]:
    """The loads of each run, oldest first, with their requests, phases and counters."""
    asked, phases = _by_run(store, "loads", Load, run_ids), _by_run(store, "load_phases", LoadPhase, run_ids)
    requests = _by_run(store, "load_requests", RequestRecord, run_ids)
    counters = _by_run(store, "load_counters", LoadCounters, run_ids)
    return {i: load_records(i, asked[i], phases[i], requests[i], counters[i]) for i in run_ids}


def beside(store: Asked, spans: Sequence[Span]) -> list[Beside]:
    """Who else had a server up on the machine during each stretch, and whether it worked."""
    up = _ask(store, "neighbours", runs=_column(spans, 0), began=_column(spans, 1), ended=_column(spans, 2))
    if not up:
        return []
    others = [Span(row["other"], row["began_at"], row["ended_at"]) for row in up]
    worked = _ask(store, "work_between", run_ids=_column(others, 0), began=_column(others, 1), ended=_column(others, 2))
    known = {(row["run_id"], row["began_at"]): row for row in worked}
    return [_beside(row, known[row["other"], row["began_at"]]) for row in up]


def _beside(row: Mapping[str, Any], work: Mapping[str, Any]) -> Beside:
    span = Span(row["run_id"], row["began_at"], row["ended_at"])
    return Beside(span, row["other"], work["worked"], tuple(uuid for uuid in work["gpu_uuids"] or () if uuid))


def _by_run(store: Asked, question: str, kind: type[Kind], run_ids: Sequence[str]) -> dict[str, list[Kind]]:
    found: dict[str, list[Kind]] = {run_id: [] for run_id in run_ids}
    for row in _ask(store, question, run_ids=list(run_ids)):
        read = {name: json.loads(value) if name in JSON and value else value for name, value in row.items()}
        found[row["run_id"]].append(kind(**read))
    return found


def _column(spans: Sequence[Span], index: int) -> list[str | datetime]:
    return [span[index] for span in spans]


def _ask(store: Asked, question: str, **params: Any) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = store.query(statement(question), params).to_pylist()
    return told
