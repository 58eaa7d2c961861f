"""What is known of a run beyond its row: its windows and what they say, its acceptance, its requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.runs.printed import PrintedSpeed, most_printed
from analysis.runs.windows import SpeedSummary, Window, summarize
from domain import Run
from engines import BY_NAME
from storage.ask import queries

PEAK_WINDOW_S = 2.0


@dataclass(frozen=True)
class RunReport:
    """One run with everything that is said about its speed."""

    run: Run
    windows: list[Window]
    summary: SpeedSummary
    acceptance: queries.Acceptance
    requests: queries.RequestTotals
    printed: PrintedSpeed | None = None  # by its log, where that alone knows of it

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
    """The name as the engine spells itself ('vLLM'); unchanged for one that is not known here."""
    engine = BY_NAME.get(name)
    return engine.title if engine else name


def report_on(store: queries.Asked, runs: Sequence[Run]) -> list[RunReport]:
    """The report of each run, in the order given; one query a kind for all runs."""
    return reports_of(store, runs, queries.wholes(store, [run.id for run in runs], PEAK_WINDOW_S))


def reports_of(store: queries.Asked, runs: Sequence[Run], told: Mapping[str, queries.Whole]) -> list[RunReport]:
    """The report of each run, of which all that its counters say has been asked, in windows of PEAK_WINDOW_S."""
    ids = [run.id for run in runs]
    requests = queries.request_totals(store, ids)
    printed = queries.printed_speeds(store, [run_id for run_id in ids if _may_print(told[run_id].windows)])
    return [
        RunReport(
            run, its.windows, summarize(its.windows), its.acceptance, requests[run.id],
            most_printed(printed.get(run.id, ())),
        )
        for run, its in zip(runs, map(told.__getitem__, ids), strict=True)
    ]  # fmt: skip


def _may_print(windows: Sequence[Window]) -> bool:
    """Whether a log may be all that is known of a run: its windows are a log's, or there is none."""
    return not windows or windows[0].definition.endswith(".log")
