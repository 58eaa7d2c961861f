"""Why the speed of a run may not be put into a ratio to the first run's, on Live as on Compare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from domain import Run
from reports.arms.comparison import incomparable_runs
from reports.runs.run_report import RunReport
from web.compare.answer.sentence import refusal_text
from web.compare.cached_reports import log_speeds_on, reports_on
from web.context import services

MIXED_MEANS = "a mean over several concurrencies depends on how long each took"


def ratio_refusals(runs: Sequence[Run]) -> dict[str, str]:
    """Return run id -> the reason why there is no ratio; runs that have one are absent."""
    store, names = services().store, {run.id: run.name for run in runs}
    is_mixed = counts_several_concurrencies(reports_on(store, [run for run in runs if run.state.is_final]))
    reasons = dict.fromkeys(names, MIXED_MEANS) if is_mixed else {}
    refusals = incomparable_runs(store, runs, log_speeds_on)
    return reasons | {run_id: refusal_text(row, names) for run_id, row in refusals.items()}


def counts_several_concurrencies(reports: Iterable[RunReport]) -> bool:
    """Whether these runs together decoded at several concurrencies, as `has_differences` asks on Compare."""
    concurrencies = {
        speeds.streams
        for report in reports
        for speeds in report.summary.speeds
        if speeds.typical_tps is not None or speeds.whole_windows
    }
    return len(concurrencies) > 1
