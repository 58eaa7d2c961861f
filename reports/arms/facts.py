"""Facts that a comparison needs of each run, from the store: server setup, loads, conditions, neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from analysis.comparison.facts import Neighbour, RunFacts
from analysis.comparison.log_speed import LogSpeed, log_speed_of
from analysis.evidence.loads import LoadRecord
from analysis.loads.depth_holds import DepthHolds, depth_holds
from analysis.loads.fidelity import FidelityLoad, build_fidelity_loads
from analysis.runs.conditions import Conditions, Span
from analysis.runs.effective_config import EffectiveRow
from domain import Run
from load_records import FIDELITY, NEEDLES, RECORDED, TOOLS_AT_DEPTH, SuiteCheck
from reports.arms.served_config import served_by, speculates
from reports.runs.agent_tasks import solved_tasks
from reports.runs.effective_config import effective_configs
from reports.runs.measured_loads import comparable_loads, measured_span, startup_span
from reports.runs.run_report import PEAK_WINDOW_S
from storage.queries import load_queries, run_data
from storage.queries.condition_queries import conditions

LogSpeeds = Mapping[str, LogSpeed | None]  # by run id
LogSpeedsOf = Callable[[run_data.Queryable, Sequence[Run]], LogSpeeds]


def stored_log_speeds(store: run_data.Queryable, runs: Sequence[Run]) -> LogSpeeds:
    """Compute by run id the speeds from the windows of these runs, as in their reports."""
    windows = run_data.windows(store, [run.id for run in runs], PEAK_WINDOW_S)
    return {run_id: log_speed_of(run_windows) for run_id, run_windows in windows.items()}


def facts_of(
    store: run_data.Queryable,
    runs: Sequence[Run],
    with_pieces: bool = True,
    log_speeds_of: LogSpeedsOf = stored_log_speeds,
) -> list[RunFacts]:
    """Return the facts of each run, in the given order; one query per kind of row for all runs.

    with_pieces: False if no output tok/s of concurrent requests is needed, which alone reads every piece's time.
    log_speeds_of: source of the speeds of runs without a measured load, such as a cache for ended runs.
    """
    ids = [run.id for run in runs]
    by_run = load_queries.loads(store, ids, with_pieces)
    loads = {run_id: comparable_loads(by_run[run_id]) for run_id in ids}
    spans = [span for run in runs for load in loads[run.id] if (span := measured_span(load))]
    starts = [span for run in runs if (span := startup_span(run))]
    span_conditions = conditions(store, [*spans, *starts])
    load_conditions = _by_run(ids, span_conditions[: len(spans)])
    startup_conditions = _by_run(ids, span_conditions[len(spans) :])
    fidelity, depths = fidelity_loads(store, by_run), depth_claims(store, by_run)
    solved = solved_tasks(store, by_run)
    neighbours = neighbours_of(store, spans, load_conditions)
    processes = processes_of(store, runs)
    effective = effective_configs(store, runs)
    unloaded = [run for run in runs if not any(load.measured for load in loads[run.id])]
    logs = log_speeds_of(store, unloaded) if unloaded else {}
    return [
        RunFacts(
            run_id=run.id,
            name=run.name,
            served=served_by(run, effective[run.id], load_conditions[run.id]),
            state=run.state,
            kind=run.kind,
            workload=run.workload.name if run.workload else None,
            loads=tuple(loads[run.id]),
            conditions=load_conditions[run.id],
            startup_conditions=startup_conditions[run.id],
            neighbours=tuple(neighbours.get(run.id, ())),
            fidelity=fidelity.get(run.id, ()),
            depths=depths.get(run.id, ()),
            solved=solved.get(run.id, {}),
            has_recording=any(load.plan and load.plan.workload == RECORDED for load in by_run[run.id]),
            speculates=speculates(run, effective[run.id]),
            began_at=run.began_at,
            startup_s=span.seconds if (span := startup_span(run)) else None,
            log=logs.get(run.id),
            full_length_requests=_value_of(effective[run.id], "max_concurrency"),
            processes=processes[run.id],
        )
        for run in runs
    ]


def fidelity_loads(
    store: run_data.Queryable, loads: Mapping[str, Sequence[LoadRecord]]
) -> dict[str, tuple[FidelityLoad, ...]]:
    """Return by run id the answers of the runs that had a fidelity load."""
    run_ids = _runs_with(loads, (FIDELITY,))
    positions = load_queries.fidelity_positions(store, run_ids) if run_ids else {}
    return {run_id: tuple(build_fidelity_loads(rows)) for run_id, rows in positions.items()}


def depth_claims(
    store: run_data.Queryable, loads: Mapping[str, Sequence[LoadRecord]]
) -> dict[str, tuple[DepthHolds, ...]]:
    """Return by run id until what depth the suites of each of its loads hold."""
    run_ids = _runs_with(loads, (TOOLS_AT_DEPTH, NEEDLES))
    checks = load_queries.depth_checks(store, run_ids) if run_ids else {}
    return {run_id: tuple(_claims_by_load(run_checks)) for run_id, run_checks in checks.items()}


def _claims_by_load(checks: Sequence[SuiteCheck]) -> Iterator[DepthHolds]:
    for load_id in dict.fromkeys(check.load_id for check in checks):
        yield from depth_holds([check for check in checks if check.load_id == load_id])


def _runs_with(loads: Mapping[str, Sequence[LoadRecord]], workloads: Sequence[str]) -> list[str]:
    """Return the runs that had a load of one of these workloads."""
    return [
        run_id
        for run_id, run_loads in loads.items()
        if any(load.plan and load.plan.workload in workloads for load in run_loads)
    ]


def _value_of(effective: Sequence[EffectiveRow], name: str) -> Any:
    """Return a number of the start-up log; None if it has none."""
    value = next((row.effective for row in effective if row.field == name), None)
    return value if isinstance(value, int | float) else None


def _by_run(ids: Sequence[str], span_conditions: Sequence[Conditions]) -> dict[str, tuple[Conditions, ...]]:
    return {run_id: tuple(condition for condition in span_conditions if condition.run_id == run_id) for run_id in ids}


def neighbours_of(
    store: run_data.Queryable, spans: Sequence[Span], load_conditions: Mapping[str, Sequence[Conditions]]
) -> dict[str, list[Neighbour]]:
    """Return by run id the other runs whose servers worked during its loads, once per load; idle ones do not count."""
    neighbours: dict[str, list[Neighbour]] = {}
    load_ids = {span[:2]: span.load_id for span in spans}
    for overlap in load_queries.neighbours(store, spans):
        if overlap.worked:
            own_gpus = {
                uuid for condition in load_conditions.get(overlap.span.run_id, ()) for uuid in condition.gpu_uuids
            }
            overlap_gpus = set(overlap.gpu_uuids)
            shares = bool(own_gpus & overlap_gpus) or not (own_gpus or overlap_gpus)
            neighbour = Neighbour(overlap.run_id, shares, load_ids[overlap.span[:2]])
            neighbours.setdefault(overlap.span.run_id, []).append(neighbour)
    return neighbours


def processes_of(store: run_data.Queryable, runs: Sequence[Run]) -> dict[str, frozenset[str]]:
    """Return run id -> names of its server process; runs that share a name observed the same server start.

    A name is the process, if known, and for an attached server also its address with the start time that it reports.
    A server that restarted meanwhile is not a single process.
    """
    attached = [run.id for run in runs if run.kind == "attached"]
    began_s = run_data.process_starts(store, attached) if attached else {}
    return {run.id: frozenset(_processes(run, began_s.get(run.id))) for run in runs}


def _processes(run: Run, began_s: float | None) -> Iterator[str]:
    if run.pid is not None and run.pid_birth_s is not None:
        yield f"process {run.pid} of {run.machine_id} at {run.pid_birth_s}"
    if run.base_url and began_s is not None:
        yield f"server of {run.base_url} at {began_s}"
