"""Reads what a scrape returns: the numbers of Live, of the metrics of runs, of studies and of the store's health."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import NamedTuple, Protocol

from analysis.metrics.registry import MetricId
from collectors.loop import Freshness
from domain import Run, Study
from reports.runs.metric_inputs import metrics_of_runs
from reports.runs.run_metrics import NO_VALUE
from reports.runs.run_report import engine_title, report_on
from reports.runs.users_held import users_held
from storage.health import StoreHealth
from storage.queries.load_queries import outcomes
from storage.queries.run_data import Queryable, newest_samples
from storage.queries.run_queries import ended_since, runs_of, state_counts
from web.live.protocol import LivePart
from web.live.reader import Cursor, StoreReader
from web.openmetrics.batch_guards import BatchGuardCache
from web.openmetrics.export import Export, RunExport, StoreExport

MOST_RUNS = 50
MOST_STUDIES = 20
RECENT = timedelta(minutes=1)  # an older value is not the current one
KEPT_AFTER_END = timedelta(hours=1)  # of a run's whole numbers, which are known only at its end
KEPT_STUDY = timedelta(days=1)
WHOLE_EVERY_S, WHOLE_ENDED_EVERY_S = 60.0, 600.0  # reading a whole run may take a second of CPU


class WholeNumbers(NamedTuple):
    """Numbers over a whole run; None: unknown."""

    stream_tps: float | None = None
    tokens_per_j: float | None = None
    users_held: float | None = None


class WholeNumbersCache:
    """Whole numbers by run; each `get` computes those of one run at most, so that no scrape takes long."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._computed: dict[
            str, tuple[float, bool, WholeNumbers]
        ] = {}  # run id -> when, whether it had ended, numbers

    def get(self, store: Queryable, runs: Sequence[Run]) -> dict[str, WholeNumbers]:
        """Return the numbers known of these runs, after computing the most outdated ones."""
        current = {run.id: self._computed[run.id] for run in runs if run.id in self._computed}
        outdated = [run for run in runs if self._is_outdated(run)]
        if outdated:
            run = min(outdated, key=lambda run: current[run.id][0] if run.id in current else 0.0)
            current[run.id] = self._clock(), run.state.is_final, _whole_numbers(store, run)
        self._computed = current
        return {run_id: numbers for run_id, (_, _, numbers) in current.items()}

    def _is_outdated(self, run: Run) -> bool:
        if run.id not in self._computed:
            return True
        computed_s, had_ended, _ = self._computed[run.id]
        every_s = WHOLE_ENDED_EVERY_S if had_ended else WHOLE_EVERY_S
        return had_ended != run.state.is_final or self._clock() - computed_s >= every_s


class ExportStore(Queryable, Protocol):
    """The store as used by the export."""

    def studies(self) -> list[Study]:
        """Return all studies, newest first."""
        ...

    def health(self) -> StoreHealth:
        """Return the health of the store."""
        ...


@dataclass(frozen=True)
class ExportSources:
    """Where the numbers come from."""

    store: Callable[[], ExportStore]
    live_runs: Callable[[], Sequence[Run]]
    freshness: Callable[[], Sequence[Freshness]]
    clock: Callable[[], datetime]
    version: str


class ExportReader:
    """Reads one export at a time; its caches are used by one thread at a time."""

    def __init__(self, sources: ExportSources) -> None:
        self._sources = sources
        self._live_values = StoreReader(sources.store)
        self._whole_numbers = WholeNumbersCache()
        self._batch_guards = BatchGuardCache()

    def read(self) -> Export:
        """Return everything that a scrape returns. Raises duckdb.Error."""
        store, now = self._sources.store(), self._sources.clock()
        live = sorted(self._sources.live_runs(), key=lambda run: run.id, reverse=True)
        live_ids = {run.id for run in live}
        ended = [run for run in ended_since(store, now - KEPT_AFTER_END, MOST_RUNS) if run.id not in live_ids]
        runs = [*live, *ended]
        exported_runs, studies = runs[:MOST_RUNS], _current_studies(store, now)
        return Export(
            self._sources.version,
            _store_export(store.health()),
            state_counts(store),
            self._runs(store, exported_runs, live_ids, now),
            len(runs) - len(exported_runs),
            studies,
            self._batch_guards.get(store, exported_runs, {study.id for study in store.studies()}),
        )

    def _runs(self, store: ExportStore, runs: Sequence[Run], live_ids: set[str], now: datetime) -> list[RunExport]:
        live = [run for run in runs if run.id in live_ids]
        parts, ages = self._parts(live, now), _ages(store, live, now)
        progress = {freshness.run_id: freshness for freshness in self._sources.freshness()}
        stored = runs_of(store, [run.id for run in runs])  # a starting run may not be stored yet
        whole_numbers = self._whole_numbers.get(store, stored)
        return [
            _run_export(run, parts.get(run.id), ages.get(run.id, {}), progress.get(run.id), whole_numbers.get(run.id))
            for run in runs
        ]

    def _parts(self, live: Sequence[Run], now: datetime) -> dict[str, LivePart]:
        """Return what Live shows of each live run, from the rows of the last minute."""
        recent = (now - RECENT).isoformat()
        cursor = Cursor(engine=recent, host=recent, gpu=recent).text()
        return self._live_values.since(dict.fromkeys((run.id for run in live), cursor)) if live else {}


def _run_export(
    run: Run,
    part: LivePart | None,
    ages: Mapping[str, float],
    progress: Freshness | None,
    numbers: WholeNumbers | None,
) -> RunExport:
    positions = part.get("per_position") if part else None
    numbers = numbers or WholeNumbers()
    return RunExport(
        run,
        engine_title(run),
        {name: tile["v"] for name, tile in part["now"].items()} if part else {},
        (positions["v"] or ()) if positions else (),
        ages,
        len(progress.hanging) if progress else None,
        progress.unread_bytes if progress else {},
        **numbers._asdict(),
    )


def _ages(store: Queryable, live: Sequence[Run], now: datetime) -> dict[str, dict[str, float]]:
    times = newest_samples(store, [run.id for run in live]) if live else {}
    return {
        run_id: {source: max(0.0, (now - ts).total_seconds()) for source, ts in by_source.items()}
        for run_id, by_source in times.items()
    }


def _whole_numbers(store: Queryable, run: Run) -> WholeNumbers:
    metrics = metrics_of_runs(store, report_on(store, [run]))[run.id]
    return WholeNumbers(
        metrics.get(MetricId("stream_tps"), NO_VALUE).value,
        metrics.get(MetricId("tokens_per_j"), NO_VALUE).value,
        users_held(outcomes(store, [run.id])[run.id]),
    )


def _current_studies(store: ExportStore, now: datetime) -> list[Study]:
    """Return the studies that have not ended, or ended within a day, newest first."""
    studies = store.studies()
    current = [study for study in studies if study.state != "ended" or now - study.updated_at < KEPT_STUDY]
    return current[:MOST_STUDIES]


def _store_export(health: StoreHealth) -> StoreExport:
    return StoreExport(
        health.ok,
        health.pending_rows,
        health.waiting_s,
        health.last_commit_age_s,
        health.published_age_s,
        len(health.lost_files),
    )
