"""Queries about loads: their requests and results, and other runs on the GPUs meanwhile."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from analysis.evidence.loads import LoadRecord, QueueReading, build_load_records
from analysis.loads.load_results import STATISTICS
from analysis.loads.paired_accuracy import PairedItems
from analysis.runs.conditions import Span
from analysis.runs.run_line import ToolStatement
from load_records import Accuracy, FidelityPosition, Load, LoadCounters, LoadPhase, RequestRecord, Result, SuiteCheck
from storage.queries.concurrency import query_pool
from storage.queries.run_data import Queryable
from storage.queries.statements import statement

Kind = TypeVar("Kind")
OUTCOME_TYPES: Mapping[str, type[Result] | type[SuiteCheck] | type[Accuracy]] = {
    "results": Result,
    "checks": SuiteCheck,
    "accuracy": Accuracy,
}


@dataclass(frozen=True, slots=True)
class LoadOutcome:
    """The outcome of one load apart from its requests."""

    results: list[Result] = field(default_factory=list)
    checks: list[SuiteCheck] = field(default_factory=list)
    accuracy: list[Accuracy] = field(default_factory=list)


class ScoredTask(NamedTuple):
    """One load's scored items of a task: how many, and how many are right."""

    load_id: str
    task: str
    filter: str
    correct: int | None
    n: int | None


ItemPairs = Mapping[tuple[ScoredTask, ScoredTask], PairedItems]  # two loads' items of one task -> their answers


JSON_FIELDS = ("sampling", "extra", "params", "command", "exchange", "protocol")


class NeighbourRun(NamedTuple):
    """Another run whose server was up during a window of a run; `gpu_uuids`: those that were sampled.

    For a run on the same server, only its own requests count as work: all others belong to the window's run.
    """

    span: Span
    run_id: str
    worked: bool
    gpu_uuids: tuple[str, ...]


def loads(store: Queryable, run_ids: Sequence[str], with_pieces: bool = True) -> dict[str, list[LoadRecord]]:
    """Return the loads of each run, oldest first, with their requests, phases and counters.

    with_pieces: include chunk times and the server's queue; without them the output tok/s of concurrent requests is
    unknown.
    """
    with query_pool() as pool:
        queue_query = pool.submit(_queue_readings, store, run_ids) if with_pieces else None
        phase_query = pool.submit(_by_run, store, "load_phases", LoadPhase, run_ids)
        counter_query = pool.submit(_by_run, store, "load_counters", LoadCounters, run_ids)
        load_query = pool.submit(read_loads, store, run_ids)
        requests = _by_run(store, "load_requests", RequestRecord, run_ids, with_pieces=with_pieces)
    loads_by_run, phases, counters = load_query.result(), phase_query.result(), counter_query.result()
    queue = queue_query.result() if queue_query else {}
    return {i: build_load_records(i, loads_by_run[i], phases[i], requests[i], counters[i], queue) for i in run_ids}


def _queue_readings(store: Queryable, run_ids: Sequence[str]) -> dict[str, list[QueueReading]]:
    """Return by load id the requests that the server ran and let wait during its phases, by time."""
    readings: dict[str, list[QueueReading]] = {}
    for row in _ask(store, "load_queue", run_ids=list(run_ids)):
        readings.setdefault(row.pop("load_id"), []).append(QueueReading(**row))
    return readings


def read_loads(store: Queryable, run_ids: Sequence[str]) -> dict[str, list[Load]]:
    """Return the parameters of each run's loads, oldest first."""
    return _by_run(store, "loads", Load, run_ids)


def recorded_requests(store: Queryable, run_ids: Sequence[str]) -> dict[str, list[RequestRecord]]:
    """Return the requests of each run's recordings that stored the parts of their prompts, oldest first."""
    return _by_run(store, "recorded_requests", RequestRecord, run_ids)


def answer_pieces(
    store: Queryable, loads: Mapping[str, str | None], phase_index: int, sequence: int | None, limit: int
) -> dict[str, dict[str, tuple[list[int] | None, list[int] | None]]]:
    """Return chunk_us and chunk_tokens of a phase's answers, or of one answer, by run and request.

    loads: run id -> load id, None if it has none. limit: the number of answers per run, earliest first.
    """
    run_ids = list(loads)
    pieces_by_run: dict[str, dict[str, tuple[list[int] | None, list[int] | None]]] = {run_id: {} for run_id in run_ids}
    params = {
        "run_ids": run_ids,
        "load_ids": [load_id for load_id in loads.values() if load_id],
        "phase_index": phase_index,
        "most": limit,
    }
    for row in _ask(store, "answer_pieces", sequence=sequence, **params):
        pieces_by_run[row["run_id"]][row["request_id"]] = (row["chunk_us"], row["chunk_tokens"])
    return pieces_by_run


def outcomes(store: Queryable, run_ids: Sequence[str]) -> dict[str, dict[str, LoadOutcome]]:
    """Return results, checks and accuracy of each run by load id."""
    outcomes_by_run: dict[str, dict[str, LoadOutcome]] = {run_id: {} for run_id in run_ids}
    for name, kind in OUTCOME_TYPES.items():
        for run_id, rows in _by_run(store, name, kind, run_ids).items():
            for row in rows:
                getattr(outcomes_by_run[run_id].setdefault(row.load_id, LoadOutcome()), name).append(row)
    return outcomes_by_run


def fidelity_positions(store: Queryable, run_ids: Sequence[str]) -> dict[str, list[FidelityPosition]]:
    """Return the positions of each run's fidelity loads, oldest first."""
    return _by_run(store, "fidelity", FidelityPosition, run_ids)


def depth_checks(store: Queryable, run_ids: Sequence[str]) -> dict[str, list[SuiteCheck]]:
    """Return the checks of each run at depths, without their exchanges, oldest first."""
    return _by_run(store, "depth_checks", SuiteCheck, run_ids)


def task_checks(store: Queryable, run_ids: Sequence[str]) -> dict[str, list[SuiteCheck]]:
    """Return the repeats of each run's agent tasks, without their facts, oldest first."""
    return _by_run(store, "task_checks", SuiteCheck, run_ids)


def item_pairs(store: Queryable, run_ids: Sequence[str], load_ids: Sequence[str]) -> ItemPairs:
    """Return the answers to the items that two of these loads share, in either order; none if items score fractions."""
    pairs: dict[tuple[ScoredTask, ScoredTask], PairedItems] = {}
    for row in _ask(store, "item_pairs", run_ids=list(run_ids), load_ids=list(load_ids)):
        if row["fractions"] == 0:
            first, second = (
                ScoredTask(row[f"{side}_load"], row["task"], row["filter"], row[f"{side}_right"], row[f"{side}_n"])
                for side in ("first", "second")
            )
            pairs[first, second] = PairedItems(row["both"], row["lost"], row["won"], row["neither"])
    return pairs


def tool_statements(store: Queryable, run_ids: Sequence[str]) -> dict[str, ToolStatement]:
    """Return the speed that another tool or a document states, by run: its highest output, else its decode speed."""
    rows = _ask(store, "tool_statements", run_ids=list(run_ids), statistics=list(STATISTICS))
    return {row.pop("run_id"): ToolStatement(**row) for row in rows}


def neighbours(store: Queryable, spans: Sequence[Span]) -> list[NeighbourRun]:
    """Return the other runs with a server up on the machine during each window, and whether they worked."""
    neighbour_rows = _ask(store, "neighbours", runs=_column(spans, 0), began=_column(spans, 1), ended=_column(spans, 2))
    if not neighbour_rows:
        return []
    neighbour_spans = [Span(row["other"], row["began_at"], row["ended_at"]) for row in neighbour_rows]
    worked = _ask(
        store,
        "work_between",
        run_ids=_column(neighbour_spans, 0),
        began=_column(neighbour_spans, 1),
        ended=_column(neighbour_spans, 2),
    )
    work_by_span = {(row["run_id"], row["began_at"]): row for row in worked}
    return [_neighbour(row, work_by_span[row["other"], row["began_at"]]) for row in neighbour_rows]


def _neighbour(row: Mapping[str, Any], work: Mapping[str, Any]) -> NeighbourRun:
    span = Span(row["run_id"], row["began_at"], row["ended_at"])
    worked = work["has_own_requests"] if row["is_same_server"] else work["worked"]
    return NeighbourRun(span, row["other"], worked, tuple(uuid for uuid in work["gpu_uuids"] or () if uuid))


def _by_run(
    store: Queryable, query_name: str, kind: type[Kind], run_ids: Sequence[str], **params: Any
) -> dict[str, list[Kind]]:
    rows_by_run: dict[str, list[Kind]] = {run_id: [] for run_id in run_ids}
    for row in _ask(store, query_name, run_ids=list(run_ids), **params):
        values = {name: json.loads(value) if name in JSON_FIELDS and value else value for name, value in row.items()}
        rows_by_run[row["run_id"]].append(kind(**values))
    return rows_by_run


def _column(spans: Sequence[Span], index: int) -> list[str | datetime | None]:
    return [span[index] for span in spans]


def _ask(store: Queryable, name: str, **params: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = store.query(statement(name), params).to_pylist()
    return rows
