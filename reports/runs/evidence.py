"""Sources of a run's numbers, and whether its log agrees with its counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from domain import MeasurementSource, Run
from storage.queries import live_queries, run_data
from storage.queries.concurrency import query_pool

TOLERANCE = 0.05
ENGINE_SOURCES = (MeasurementSource.COUNTER, MeasurementSource.SLOTS)


class SourceAgreement(StrEnum):
    """Agreement of the engine's own numbers with its log."""

    AGREE = "agree"
    DISAGREE = "disagree"
    NOT_COMPARED = "not_compared"  # no line of the log has counters of the same tokens and seconds
    ENGINE_ALONE = "engine_alone"  # counters or slots, and no log that gave a speed
    LOG_ALONE = "log_alone"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Evidence:
    """Sources of one run's numbers; `no_counters` is the reason why its endpoints gave none, if known."""

    run: Run
    sources: Sequence[run_data.SourceRow]
    crosscheck: run_data.Crosscheck
    no_counters: str | None = None
    silence: run_data.Silence | None = None

    @property
    def of_engine(self) -> list[run_data.SourceRow]:
        return [row for row in self.sources if row.source in ENGINE_SOURCES]

    @property
    def agreement(self) -> SourceAgreement:
        is_logged = any(row.source == MeasurementSource.LOG for row in self.sources)
        if not self.of_engine:
            return SourceAgreement.LOG_ALONE if is_logged else SourceAgreement.UNKNOWN
        if not is_logged:
            return SourceAgreement.ENGINE_ALONE
        if self.crosscheck.difference is None:
            return SourceAgreement.NOT_COMPARED
        return SourceAgreement.DISAGREE if self.crosscheck.difference > TOLERANCE else SourceAgreement.AGREE


def evidence_of(store: run_data.Queryable, runs: Sequence[Run]) -> list[Evidence]:
    """Return the evidence of each run, in the given order."""
    ids = [run.id for run in runs]
    sources, errors = run_data.sources(store, ids), live_queries.collector_errors(store, ids)
    # Without a log there is nothing to compare, and the counters of a day take a second to read.
    logged_ids = [run_id for run_id in ids if any(row.source == MeasurementSource.LOG for row in sources[run_id])]
    with query_pool() as pool:
        silence_query = pool.submit(run_data.silences, store, ids)
        checks = run_data.crosschecks(store, logged_ids) if logged_ids else {}
    silences = silence_query.result()
    return [
        Evidence(
            run,
            sources[run.id],
            checks.get(run.id, run_data.Crosscheck()),
            errors[run.id].get("endpoint"),
            silences.get(run.id),
        )
        for run in runs
    ]
