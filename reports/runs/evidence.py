"""Who spoke of a run, and whether they agree: the sources of its numbers, the log held against the counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from domain import Run, Source
from storage.ask import live_queries, queries

TOLERANCE = 0.05
OF_ENGINE = (Source.COUNTER, Source.SLOTS)


class Standing(StrEnum):
    """How the numbers that the engine itself gave stand."""

    AGREE = "agree"
    DISAGREE = "disagree"
    NOT_COMPARED = "not_compared"  # no line of the log has counters of the same tokens and seconds
    ENGINE_ALONE = "engine_alone"  # counters or slots, and no log that gave a speed
    LOG_ALONE = "log_alone"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Evidence:
    """The sources of one run's numbers; `no_counters` is why its endpoints said nothing, where that is known."""

    run: Run
    sources: Sequence[queries.SourceRow]
    crosscheck: queries.Crosscheck
    no_counters: str | None = None
    silence: queries.Silence | None = None

    @property
    def of_engine(self) -> list[queries.SourceRow]:
        return [row for row in self.sources if row.source in OF_ENGINE]

    @property
    def standing(self) -> Standing:
        is_logged = any(row.source == Source.LOG for row in self.sources)
        if not self.of_engine:
            return Standing.LOG_ALONE if is_logged else Standing.UNKNOWN
        if not is_logged:
            return Standing.ENGINE_ALONE
        if self.crosscheck.difference is None:
            return Standing.NOT_COMPARED
        return Standing.DISAGREE if self.crosscheck.difference > TOLERANCE else Standing.AGREE


def evidence_of(store: queries.Asked, runs: Sequence[Run]) -> list[Evidence]:
    """The evidence of each run, in the order given."""
    ids = [run.id for run in runs]
    sources, checks = queries.sources(store, ids), queries.crosschecks(store, ids)
    errors, silences = live_queries.collector_errors(store, ids), queries.silences(store, ids)
    return [
        Evidence(run, sources[run.id], checks[run.id], errors[run.id].get("endpoint"), silences.get(run.id))
        for run in runs
    ]
