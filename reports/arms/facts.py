"""What a comparison must know of each run, put together from the store: what was served, loads, conditions, company."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from analysis.comparison.facts import LogSpeed, Neighbour, RunFacts
from analysis.evidence.loads import LoadRecord
from analysis.guard.load import DECLARED
from analysis.runs.conditions import Conditions, Span
from analysis.runs.effective import Row
from analysis.runs.windows import Window, speed_factors
from domain import Run
from reports.arms.served import served_by, speculates
from reports.runs.effective_config import effective_configs
from reports.runs.run_report import PEAK_WINDOW_S
from storage.ask import load_queries, queries
from storage.ask.condition_queries import conditions
from workloads.process.load_book import TOOL

OURS = (TOOL, DECLARED)
WindowsOf = Callable[[queries.Asked, Sequence[Run]], Mapping[str, Sequence[Window]]]


def stored_windows(store: queries.Asked, runs: Sequence[Run]) -> Mapping[str, Sequence[Window]]:
    """The windows of these runs as their reports have them, by run; computed now."""
    return queries.windows(store, [run.id for run in runs], PEAK_WINDOW_S)


def facts_of(
    store: queries.Asked, runs: Sequence[Run], with_pieces: bool = True, windows_of: WindowsOf = stored_windows
) -> list[RunFacts]:
    """The facts of each run, in the order given; one question a kind for all runs.

    with_pieces: False where no output tok/s of several requests is taken of them, which alone needs every piece's time.
    windows_of: where somebody keeps those of runs that have ended; asked for runs without a load of ours.
    """
    ids = [run.id for run in runs]
    by_run = load_queries.loads(store, ids, with_pieces)
    loads = {run_id: evidence_of(by_run[run_id]) for run_id in ids}
    spans = [span for run in runs for load in loads[run.id] if (span := measured_span(load))]
    starts = [span for run in runs if (span := startup_span(run))]
    met = conditions(store, [*spans, *starts])
    of_run = _by_run(ids, met[: len(spans)])
    of_start = _by_run(ids, met[len(spans) :])
    near = neighbours_of(store, spans, of_run)
    processes = processes_of(store, runs)
    effective = effective_configs(store, runs)
    unloaded = [run for run in runs if not any(load.measured for load in loads[run.id])]
    logs = log_speeds(windows_of(store, unloaded)) if unloaded else {}
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
            startup_conditions=of_start[run.id],
            neighbours=tuple(near.get(run.id, ())),
            speculates=speculates(run, effective[run.id]),
            began_at=run.started_at or run.created_at,
            startup_s=span.seconds if (span := startup_span(run)) else None,
            log=logs.get(run.id),
            kv_cache_tokens=_value_of(effective[run.id], "kv_cache_tokens"),
            full_length_requests=_value_of(effective[run.id], "max_concurrency"),
            processes=processes[run.id],
        )
        for run in runs
    ]


def evidence_of(loads: Sequence[LoadRecord]) -> list[LoadRecord]:
    """The loads that speeds may be given of: our own; without any, those of a tool whose prompts are known."""
    own = [load for load in loads if load.asked is None or load.asked.tool in OURS]
    return own or [load for load in loads if load.asked and load.asked.prompt_set_hash]


def _value_of(effective: Sequence[Row], name: str) -> Any:
    """A number of the start-up log; None where it has none."""
    value = next((row.effective for row in effective if row.field == name), None)
    return value if isinstance(value, int | float) else None


def measured_span(load: LoadRecord) -> Span | None:
    """From the first measured request to the end of the last; None of a load that measured nothing."""
    requests = load.measured
    if not requests:
        return None
    ended = max(r.sent_at + timedelta(milliseconds=r.total_ms or 0.0) for r in requests)
    return Span(load.run_id, min(r.sent_at for r in requests), ended, load.load_id)


def startup_span(run: Run) -> Span | None:
    """From the launch of our own server until it was ready; None of others, and of one that never was."""
    if run.kind != "launched" or not run.started_at or not run.ready_at:
        return None
    return Span(run.id, run.started_at, run.ready_at)


def _by_run(ids: Sequence[str], met: Sequence[Conditions]) -> dict[str, tuple[Conditions, ...]]:
    return {run_id: tuple(one for one in met if one.run_id == run_id) for run_id in ids}


def neighbours_of(
    store: queries.Asked, spans: Sequence[Span], known: Mapping[str, Sequence[Conditions]]
) -> dict[str, list[Neighbour]]:
    """Runs whose servers worked meanwhile, a run once a load; one that idled takes nothing from anybody."""
    found: dict[str, list[Neighbour]] = {}
    load_ids = {span[:2]: span.load_id for span in spans}
    for other in load_queries.beside(store, spans):
        if other.worked:
            mine = {uuid for one in known.get(other.span.run_id, ()) for uuid in one.gpu_uuids}
            theirs = set(other.gpu_uuids)
            shares = bool(mine & theirs) or not (mine or theirs)
            near = Neighbour(other.run_id, shares, load_ids[other.span[:2]])
            found.setdefault(other.span.run_id, []).append(near)
    return found


def processes_of(store: queries.Asked, runs: Sequence[Run]) -> dict[str, frozenset[str]]:
    """Names of each run's server process, by which another run of the same process is known: a server start is one.

    By the process itself where it is known; of a server that was attached also by its address, with the moment at which
    it says that it began. A server that began anew meanwhile is no single process.
    """
    attached = [run.id for run in runs if run.kind == "attached"]
    began_s = queries.process_starts(store, attached) if attached else {}
    return {run.id: frozenset(_processes(run, began_s.get(run.id))) for run in runs}


def _processes(run: Run, began_s: float | None) -> Iterator[str]:
    if run.pid is not None and run.pid_birth_s is not None:
        yield f"process {run.pid} of {run.machine_id} at {run.pid_birth_s}"
    if run.base_url and began_s is not None:
        yield f"server of {run.base_url} at {began_s}"


def log_speeds(windows: Mapping[str, Sequence[Window]]) -> dict[str, LogSpeed]:
    """What the windows say of runs that no load of ours was put on."""
    speeds = {run_id: _log_speed(its) for run_id, its in windows.items()}
    return {run_id: speed for run_id, speed in speeds.items() if speed}


def _log_speed(windows: Sequence[Window]) -> LogSpeed | None:
    factors = speed_factors(windows)
    active = [one for one in windows if one.activity == "active" and one.decode_tps is not None]
    if factors is None or not active:
        return None
    lengths = {one.window_s for one in active}
    return LogSpeed(factors.decode_tps, len(active), active[0].definition, lengths.pop() if len(lengths) == 1 else None)
