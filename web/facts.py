"""What the pages know of a run beyond its row: its windows, what they say, and what the guard must know of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.guard import Subject, reasons_not_comparable
from analysis.windows import SpeedSummary, Window, summarize
from domain import Run, RunState
from engines import BY_NAME
from engines.definitions import MEASURES
from storage.ask import queries
from web.context import services
from workloads import unsent_requests

PEAK_WINDOW_S = 2.0


@dataclass(frozen=True)
class Facts:
    """One run with everything a page says about it."""

    run: Run
    windows: list[Window]
    summary: SpeedSummary
    subject: Subject
    acceptance: queries.Acceptance
    requests: queries.RequestTotals

    @property
    def time_to_ready_s(self) -> float | None:
        if self.run.started_at is None or self.run.ready_at is None:
            return None
        return (self.run.ready_at - self.run.started_at).total_seconds()

    @property
    def engine_title(self) -> str:
        return engine_title(self.run)


def engine_title(run: Run) -> str:
    """The run's engine as it spells itself."""
    return engine_title_of(run.config.engine)


def engine_title_of(name: str) -> str:
    engine = BY_NAME.get(name)
    return engine.title if engine else name


def facts_of(runs: Sequence[Run]) -> list[Facts]:
    """The facts of each run, in the order given."""
    return facts_in(services().store, runs)


def facts_in(store: queries.Asked, runs: Sequence[Run]) -> list[Facts]:
    """The same from this store; one query a kind for all runs."""
    ids = [run.id for run in runs]
    windows = queries.windows(store, ids, PEAK_WINDOW_S)
    acceptance = queries.acceptance(store, ids)
    requests = queries.request_totals(store, ids)
    neighbours = queries.neighbours(store, ids)
    return [_facts(run, windows[run.id], acceptance[run.id], requests[run.id], neighbours[run.id]) for run in runs]


def not_comparable(runs: Sequence[Run]) -> dict[str, str]:
    """Run id -> why its speed is not held against the first one's, for those of which it is not."""
    if len(runs) < 2:
        return {}
    facts = facts_of(runs)
    reasons = [(other.run, reasons_not_comparable(facts[0].subject, other.subject)) for other in facts[1:]]
    return {run.id: without_name(found[0], run) for run, found in reasons if found}


def without_name(reason: str, run: Run) -> str:
    """A reason of the guard where the run's name stands already."""
    return reason.removeprefix(f"{run.name} ")


def _facts(
    run: Run,
    windows: list[Window],
    acceptance: queries.Acceptance,
    requests: queries.RequestTotals,
    neighbours: int,
) -> Facts:
    summary = summarize(windows)
    workload = run.workload
    subject = Subject(
        run_id=run.id,
        name=run.name,
        state=run.state,
        machine_id=run.machine_id,
        began_at=run.started_at or (None if run.state is RunState.QUEUED else run.created_at),
        ended_at=run.ended_at,
        workload=workload.name if workload else None,
        prompt_set_hash=workload.prompt_set_hash if workload else None,
        workload_params=workload.params if workload else {},
        measure=MEASURES.get(summary.definition or ""),
        summary=summary,
        unsent=unsent_requests(workload, requests.sent) if workload and run.state.is_final else 0,
        neighbours=neighbours,
    )
    return Facts(run, windows, summary, subject, acceptance, requests)
