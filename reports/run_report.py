"""What is known of a run beyond its row: its windows, what they say, and what the guard must know of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.guard import Subject, reasons_not_comparable
from analysis.reasons import Reason
from analysis.windows import SpeedSummary, Window, summarize
from domain import Run, RunState
from engines import BY_NAME
from engines.definitions import MEASURES
from storage.ask import queries
from workloads import unsent_requests

PEAK_WINDOW_S = 2.0


@dataclass(frozen=True)
class RunReport:
    """One run with everything that is said about its speed."""

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


def report_on(store: queries.Asked, runs: Sequence[Run]) -> list[RunReport]:
    """The report of each run, in the order given; one query a kind for all runs."""
    ids = [run.id for run in runs]
    windows = queries.windows(store, ids, PEAK_WINDOW_S)
    acceptance = queries.acceptance(store, ids)
    requests = queries.request_totals(store, ids)
    neighbours = queries.neighbours(store, ids)
    return [_report(run, windows[run.id], acceptance[run.id], requests[run.id], neighbours[run.id]) for run in runs]


def not_comparable(store: queries.Asked, runs: Sequence[Run]) -> dict[str, Reason]:
    """Run id -> why its speed is not held against the first one's, for those of which it is not."""
    if len(runs) < 2:
        return {}
    first, *others = report_on(store, runs)
    reasons = {other.run.id: reasons_not_comparable(first.subject, other.subject) for other in others}
    return {run_id: found[0] for run_id, found in reasons.items() if found}


def _report(
    run: Run,
    windows: list[Window],
    acceptance: queries.Acceptance,
    requests: queries.RequestTotals,
    neighbours: int,
) -> RunReport:
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
    return RunReport(run, windows, summary, subject, acceptance, requests)
