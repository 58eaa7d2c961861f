"""Reports and evidence for the runs of a page; those of ended runs come from a cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from analysis.comparison.log_speed import LogSpeed
from domain import Run
from reports.cache.run_cache import RunCache
from reports.runs.evidence import Evidence, evidence_of
from reports.runs.run_report import RunReport, report_on
from storage.queries.run_data import Queryable
from web.context import services

AboutRun = TypeVar("AboutRun", RunReport, Evidence)


def reports_on(store: Queryable, runs: Sequence[Run]) -> list[RunReport]:
    """Return the report of each run, in the given order."""
    return _cached_or_computed(store, runs, services().reports, report_on)


def log_speeds_on(store: Queryable, runs: Sequence[Run]) -> dict[str, LogSpeed | None]:
    """Return run id -> the speed from the windows of its report."""
    return {report.run.id: report.log_speed for report in reports_on(store, runs)}


def evidence_on(store: Queryable, runs: Sequence[Run]) -> list[Evidence]:
    """Return the evidence of each run, in the given order."""
    return _cached_or_computed(store, runs, services().evidence, evidence_of)


def _cached_or_computed(
    store: Queryable,
    runs: Sequence[Run],
    cache: RunCache[AboutRun],
    compute: Callable[[Queryable, Sequence[Run]], list[AboutRun]],
) -> list[AboutRun]:
    """Read ended runs from the cache; compute running ones and those of other machines."""
    ended = [run for run in runs if run.state.is_final and store is services().store]
    results = cache.get(store, ended)
    if missing := [run for run in runs if run.id not in results]:
        results |= {result.run.id: result for result in compute(store, missing)}
    return [results[run.id] for run in runs]
