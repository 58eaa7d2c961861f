"""The reports of the runs that a page compares; of those that have ended they are not computed at each click."""

from __future__ import annotations

from collections.abc import Sequence

from domain import Run
from reports.runs.run_report import RunReport, report_on
from storage.ask.queries import Asked
from web.context import services


def reports_on(asked: Asked, runs: Sequence[Run]) -> list[RunReport]:
    """The report of each run, in the order given; those of another machine are computed anew."""
    ours = services()
    ended = [run for run in runs if run.state.is_final and asked is ours.store]
    found = ours.reports.of(asked, ended)
    found |= {one.run.id: one for one in report_on(asked, [run for run in runs if run.id not in found])}
    return [found[run.id] for run in runs]
