"""A run apart from its loads that are not compared: its windows hold these too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from analysis.comparison.facts import RunFacts
from analysis.evidence.loads import LoadRecord
from analysis.runs.conditions import Span
from analysis.runs.windows import SpeedSummary, Window, summarize
from domain import Run
from reports.runs.run_report import RunReport
from storage.ask.queries import Acceptance


def other_loads(whole: RunFacts, compared: RunFacts) -> tuple[Span, ...]:
    """When the run's loads that are not compared ran, their warm-up included."""
    kept = {load.load_id for load in compared.loads}
    return tuple(_spans(load for load in whole.loads if load.load_id not in kept))


def _spans(loads: Iterable[LoadRecord]) -> Iterable[Span]:
    for load in loads:
        if load.requests:
            ended = max(one.sent_at + timedelta(milliseconds=one.total_ms or 0.0) for one in load.requests)
            yield Span(load.run_id, min(one.sent_at for one in load.requests), ended, load.load_id)


def apart_from(report: RunReport, others: Sequence[Span]) -> RunReport:
    """The report without the windows in which these loads ran; what only the whole run shows is unknown then."""
    if not others:
        return report
    windows = [one for one in report.windows if not _touches(one, report.run, others)]
    summary = summarize(windows)
    return replace(report, windows=windows, summary=summary, acceptance=_acceptance(report, summary), printed=None)


def _touches(window: Window, run: Run, spans: Sequence[Span]) -> bool:
    """Whether one of these ran in the window; where the run's readiness is not known, it may have."""
    if run.ready_at is None:
        return True
    ended = run.ready_at + timedelta(seconds=window.since_ready_s)
    began = ended - timedelta(seconds=window.dt_s)
    return any(began < span.ended_at and span.began_at < ended for span in spans)


def _acceptance(report: RunReport, summary: SpeedSummary) -> Acceptance:
    if report.acceptance.length is None:
        return report.acceptance
    return Acceptance(summary.acceptance_length, definition=report.acceptance.definition, reason=summary.reason)
