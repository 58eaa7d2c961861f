"""Excludes from a run's report the windows of loads that are not compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from analysis.comparison.facts import RunFacts
from analysis.comparison.log_speed import log_speed_of
from analysis.evidence.loads import LoadRecord
from analysis.runs.conditions import Span
from analysis.runs.speed_summary import SpeedSummary, summarize
from analysis.runs.windows import Window
from domain import Run
from reports.runs.run_report import RunReport
from storage.queries.run_data import Acceptance


def other_loads(all_facts: RunFacts, restricted_facts: RunFacts) -> tuple[Span, ...]:
    """Return the time spans of the run's loads that are not compared, including their warm-up."""
    compared_ids = {load.load_id for load in restricted_facts.loads}
    return tuple(_spans(load for load in all_facts.loads if load.load_id not in compared_ids))


def _spans(loads: Iterable[LoadRecord]) -> Iterable[Span]:
    for load in loads:
        if load.requests:
            ended_at = max(
                request.sent_at + timedelta(milliseconds=request.total_ms or 0.0) for request in load.requests
            )
            yield Span(load.run_id, min(request.sent_at for request in load.requests), ended_at, load.load_id)


def without_loads(report: RunReport, load_spans: Sequence[Span]) -> RunReport:
    """Return the report without the windows in which these loads ran; values of the run as a whole become unknown."""
    if not load_spans:
        return report
    windows = [window for window in report.windows if not _touches(window, report.run, load_spans)]
    summary = summarize(windows)
    return replace(
        report,
        windows=windows,
        summary=summary,
        acceptance=_acceptance(report, summary),
        printed=None,
        log_speed=log_speed_of(windows),
    )


def _touches(window: Window, run: Run, spans: Sequence[Span]) -> bool:
    """Whether one of these spans overlaps the window; True if the run's ready time is unknown."""
    if run.ready_at is None:
        return True
    ended = run.ready_at + timedelta(seconds=window.since_ready_s)
    began = ended - timedelta(seconds=window.dt_s)
    return any(began < span.ended_at and span.began_at < ended for span in spans)


def _acceptance(report: RunReport, summary: SpeedSummary) -> Acceptance:
    if report.acceptance.length is None:
        return report.acceptance
    return Acceptance(summary.acceptance_length, definition=report.acceptance.definition, reason=summary.reason)
