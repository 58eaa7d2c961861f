"""What a comparison must know of each run, put together from the store: what was served, loads, conditions, company."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from analysis.conditions import Conditions, Span
from analysis.evidence.loads import LoadRecord
from analysis.facts import LogSpeed, Neighbour, RunFacts
from analysis.windows import Window, speed_factors
from domain import Run
from reports.effective_config import effective_configs
from reports.served import served_by, speculates
from storage.ask import load_queries, queries
from storage.ask.condition_queries import conditions

PEAK_WINDOW_S = 2.0


def facts_of(store: queries.Asked, runs: Sequence[Run]) -> list[RunFacts]:
    """The facts of each run, in the order given; one question a kind for all runs."""
    ids = [run.id for run in runs]
    loads = load_queries.loads(store, ids)
    spans = [span for run in runs for load in loads[run.id] if (span := measured_span(load))]
    found = list(zip(spans, conditions(store, spans), strict=True))
    of_run = {run_id: tuple(one for span, one in found if span.run_id == run_id) for run_id in ids}
    near = neighbours_of(store, spans, of_run)
    effective = effective_configs(store, runs)
    logs = log_speeds(store, [run for run in runs if not any(load.measured for load in loads[run.id])])
    return [
        RunFacts(
            run_id=run.id,
            name=run.name,
            served=served_by(run, effective[run.id], of_run[run.id]),
            state=run.state,
            kind=run.kind,
            workload=run.workload.name if run.workload else None,
            loads=tuple(loads[run.id]),
            conditions=of_run[run.id],
            neighbours=tuple(near.get(run.id, ())),
            speculates=speculates(run, effective[run.id]),
            began_at=run.started_at or run.created_at,
            startup_s=(run.ready_at - run.started_at).total_seconds()
            if run.kind == "launched" and run.ready_at and run.started_at
            else None,
            log=logs.get(run.id),
        )
        for run in runs
    ]


def measured_span(load: LoadRecord) -> Span | None:
    """From the first measured request to the end of the last; None of a load that measured nothing."""
    requests = load.measured
    if not requests:
        return None
    ended = max(r.sent_at + timedelta(milliseconds=r.total_ms or 0.0) for r in requests)
    return Span(load.run_id, min(r.sent_at for r in requests), ended)


def neighbours_of(
    store: queries.Asked, spans: Sequence[Span], known: Mapping[str, Sequence[Conditions]]
) -> dict[str, list[Neighbour]]:
    """Runs whose servers worked meanwhile, a run once; one that idled takes nothing from anybody."""
    found: dict[str, dict[str, Neighbour]] = {}
    for other in load_queries.beside(store, spans):
        if other.worked:
            mine = {uuid for one in known.get(other.span.run_id, ()) for uuid in one.gpu_uuids}
            theirs = set(other.gpu_uuids)
            shares = bool(mine & theirs) or not (mine or theirs)
            found.setdefault(other.span.run_id, {})[other.run_id] = Neighbour(other.run_id, shares)
    return {run_id: list(others.values()) for run_id, others in found.items()}


def log_speeds(store: queries.Asked, runs: Sequence[Run]) -> dict[str, LogSpeed]:
    """What the windows say of runs that no load of ours was put on."""
    windows = queries.windows(store, [run.id for run in runs], PEAK_WINDOW_S) if runs else {}
    told = {run_id: _log_speed(its) for run_id, its in windows.items()}
    return {run_id: speed for run_id, speed in told.items() if speed}


def _log_speed(windows: Sequence[Window]) -> LogSpeed | None:
    factors = speed_factors(windows)
    active = [one for one in windows if one.activity == "active" and one.decode_tps is not None]
    if factors is None or not active:
        return None
    lengths = {one.window_s for one in active}
    return LogSpeed(factors.decode_tps, len(active), active[0].definition, lengths.pop() if len(lengths) == 1 else None)
