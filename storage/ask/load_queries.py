"""Queries about loads: what was asked of a server, the results, and who else used the GPUs meanwhile."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from analysis.evidence.loads import LoadRecord, load_records
from analysis.runs.conditions import Span
from load_records import Accuracy, Check, Load, LoadCounters, LoadPhase, RequestRecord, Result
from storage.ask.queries import Asked
from storage.ask.statements import statement

Kind = TypeVar("Kind")
OUTCOMES: Mapping[str, type[Result] | type[Check] | type[Accuracy]] = {
    "results": Result,
    "checks": Check,
    "accuracy": Accuracy,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one load left beside its requests."""

    results: list[Result] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    accuracy: list[Accuracy] = field(default_factory=list)


JSON = ("sampling", "extra", "params", "command", "exchange", "protocol")


class Beside(NamedTuple):
    """Another run whose server was up during a stretch of one; `gpu_uuids` as far as they were seen.

    Of a run that watches the very server only requests of its own are work: the others are the stretch's.
    """

    span: Span
    run_id: str
    worked: bool
    gpu_uuids: tuple[str, ...]


def loads(store: Asked, run_ids: Sequence[str], with_pieces: bool = True) -> dict[str, list[LoadRecord]]:
    """The loads of each run, oldest first, with their requests, phases and counters.

    with_pieces: also the time of each piece of an answer; without it no output tok/s of several requests is known.
    """
    asked, phases = asked_loads(store, run_ids), _by_run(store, "load_phases", LoadPhase, run_ids)
    requests = _by_run(store, "load_requests", RequestRecord, run_ids, with_pieces=with_pieces)
    counters = _by_run(store, "load_counters", LoadCounters, run_ids)
    return {i: load_records(i, asked[i], phases[i], requests[i], counters[i]) for i in run_ids}


def asked_loads(store: Asked, run_ids: Sequence[str]) -> dict[str, list[Load]]:
    """What was asked of the loads of each run, oldest first."""
    return _by_run(store, "loads", Load, run_ids)


def answer_pieces(
    store: Asked, loads: Mapping[str, str | None], phase_index: int, sequence: int | None, most: int
) -> dict[str, dict[str, tuple[list[int] | None, list[int] | None]]]:
    """chunk_us and chunk_tokens of a phase's answers, or of one, by run and request.

    loads: run id -> the id of its load, None of one that has none. most: the answers of each run at most, the earliest.
    """
    run_ids = list(loads)
    found: dict[str, dict[str, tuple[list[int] | None, list[int] | None]]] = {run_id: {} for run_id in run_ids}
    asked = {
        "run_ids": run_ids,
        "load_ids": [one for one in loads.values() if one],
        "phase_index": phase_index,
        "most": most,
    }
    for row in _ask(store, "answer_pieces", sequence=sequence, **asked):
        found[row["run_id"]][row["request_id"]] = (row["chunk_us"], row["chunk_tokens"])
    return found


def outcomes(store: Asked, run_ids: Sequence[str]) -> dict[str, dict[str, Outcome]]:
    """What came of the loads of each run, by the load's id: results, checks and accuracy."""
    found: dict[str, dict[str, Outcome]] = {run_id: {} for run_id in run_ids}
    for question, kind in OUTCOMES.items():
        for run_id, rows in _by_run(store, question, kind, run_ids).items():
            for row in rows:
                getattr(found[run_id].setdefault(row.load_id, Outcome()), question).append(row)
    return found


def load_speeds(store: Asked, run_ids: Sequence[str]) -> dict[str, tuple[float | None, float | None]]:
    """tok/s of a stream alone, and of all streams together at their most, by the results of each run's loads."""
    by_run = {
        row["run_id"]: (row["stream_tps"], row["output_tps"]) for row in _ask(store, "load_speeds", run_ids=run_ids)
    }
    return {run_id: by_run.get(run_id, (None, None)) for run_id in run_ids}


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
    worked = work["asked"] if row["is_same_server"] else work["worked"]
    return Beside(span, row["other"], worked, tuple(uuid for uuid in work["gpu_uuids"] or () if uuid))


def _by_run(
    store: Asked, question: str, kind: type[Kind], run_ids: Sequence[str], **params: Any
) -> dict[str, list[Kind]]:
    found: dict[str, list[Kind]] = {run_id: [] for run_id in run_ids}
    for row in _ask(store, question, run_ids=list(run_ids), **params):
        read = {name: json.loads(value) if name in JSON and value else value for name, value in row.items()}
        found[row["run_id"]].append(kind(**read))
    return found


def _column(spans: Sequence[Span], index: int) -> list[str | datetime | None]:
    return [span[index] for span in spans]


def _ask(store: Asked, question: str, **params: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = store.query(statement(question), params).to_pylist()
    return rows
