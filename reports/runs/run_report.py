"""Report on a run beyond its row: its windows with their summary, its acceptance, its requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.comparison.log_speed import LogSpeed, log_speed_of
from analysis.runs.printed_speed import PrintedSpeed, most_printed
from analysis.runs.speed_summary import SpeedSummary, summarize
from analysis.runs.windows import Window
from domain import OTHER_ENGINE, Run
from engines import BY_NAME, UNKNOWN_ENGINE
from storage.queries import run_data

PEAK_WINDOW_S = 2.0


@dataclass(frozen=True)
class RunReport:
    """One run with everything known about its speed."""

    run: Run
    windows: Sequence[Window]
    summary: SpeedSummary
    acceptance: run_data.Acceptance
    usage: run_data.EngineUsage
    requests: run_data.RequestTotals
    printed: PrintedSpeed | None = None  # speed printed by its log, if that is the only source
    log_speed: LogSpeed | None = None  # from its windows, where no load was measured

    @property
    def engine_title(self) -> str:
        return engine_title(self.run)


def engine_title(run: Run) -> str:
    """Return the title of the run's engine."""
    return engine_title_of(stated_engine(run))


def stated_engine(run: Run) -> str | None:
    """Return the name of the run's engine; None for results of a tool that do not state it."""
    return None if run.kind == "imported" and run.config.engine == OTHER_ENGINE else run.config.engine


def engine_title_of(name: str | None) -> str:
    """Return the name as the engine spells it ('vLLM'); the name of another engine is returned unchanged."""
    if name is None:
        return UNKNOWN_ENGINE
    engine = BY_NAME.get(name)
    return engine.title if engine else name


def report_on(store: run_data.Queryable, runs: Sequence[Run]) -> list[RunReport]:
    """Return the report of each run, in the given order; one query per kind of row for all runs."""
    return reports_of(store, runs, run_data.whole_run_data(store, [run.id for run in runs], PEAK_WINDOW_S))


def reports_of(
    store: run_data.Queryable, runs: Sequence[Run], wholes_by_run: Mapping[str, run_data.WholeRunData]
) -> list[RunReport]:
    """Return the report of each run from its counters' data, read in windows of PEAK_WINDOW_S."""
    ids = [run.id for run in runs]
    requests = run_data.request_totals(store, ids)
    printed = run_data.printed_speeds(store, [run_id for run_id in ids if _may_print(wholes_by_run[run_id].windows)])
    return [_report(run, wholes_by_run[run.id], requests[run.id], printed.get(run.id, ())) for run in runs]


def _report(
    run: Run,
    counters: run_data.WholeRunData,
    requests: run_data.RequestTotals,
    printed: Sequence[PrintedSpeed],
) -> RunReport:
    summary = summarize(counters.windows)
    return RunReport(
        run=run,
        windows=counters.windows,
        summary=summary,
        acceptance=counters.acceptance,
        usage=counters.usage,
        requests=requests,
        printed=most_printed(printed),
        log_speed=log_speed_of(counters.windows, summary.factors),
    )


def _may_print(windows: Sequence[Window]) -> bool:
    """Whether a log may be the only source for a run: its windows come from a log, or it has none."""
    return not windows or windows[0].definition.endswith(".log")
