"""What is known of the runs that a page shows; of those that have ended it is not computed at each click."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from analysis.runs.windows import Window
from domain import Run
from reports.runs.ended import OfEnded
from reports.runs.evidence import Evidence, evidence_of
from reports.runs.run_report import RunReport, report_on
from storage.ask.queries import Asked
from web.context import services

AboutRun = TypeVar("AboutRun", RunReport, Evidence)


def reports_on(asked: Asked, runs: Sequence[Run]) -> list[RunReport]:
    """The report of each run, in the order given."""
    return _known(asked, runs, services().reports, report_on)


def windows_on(asked: Asked, runs: Sequence[Run]) -> dict[str, Sequence[Window]]:
    """The windows of each run's report."""
    return {report.run.id: report.windows for report in reports_on(asked, runs)}


def evidence_on(asked: Asked, runs: Sequence[Run]) -> list[Evidence]:
    """The evidence of each run, in the order given."""
    return _known(asked, runs, services().evidence, evidence_of)


def _known(
    asked: Asked,
    runs: Sequence[Run],
    kept: OfEnded[AboutRun],
    compute: Callable[[Asked, Sequence[Run]], list[AboutRun]],
) -> list[AboutRun]:
    """Take what is kept of ended runs; compute it anew for runs that go on and for those of another machine."""
    ended = [run for run in runs if run.state.is_final and asked is services().store]
    found = kept.of(asked, ended)
    if others := [run for run in runs if run.id not in found]:
        found |= {one.run.id: one for one in compute(asked, others)}
    return [found[run.id] for run in runs]
