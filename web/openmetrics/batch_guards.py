"""Guards of batches for scrapes: may their arms be ranked? Computed for one batch a scrape at most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from time import monotonic
from typing import NamedTuple

from analysis.compare_arms import ArmComparison
from analysis.comparison.replicates import Replicate
from domain import Run
from reports.arms.comparison import comparison_of
from storage.queries.run_data import Queryable
from storage.queries.run_queries import runs_of_batch

MOST_BATCHES = 20
COMPARED_EVERY_S = 60.0  # of a batch that changes: a comparison may take a second of CPU
MOST_RUNS_OF_BATCH = 60  # a larger batch is not compared here


class BatchGuard(NamedTuple):
    """The refused pairs of a batch by the row of the guard that refuses them; none: all measured arms are ranked."""

    batch_id: str
    refusals: Mapping[str, int]


class ComputedGuard(NamedTuple):
    """A guard, when it was computed and from which states of the batch's runs; guard is None: nothing was judged."""

    computed_s: float
    states: Collection[tuple[str, str]]
    guard: BatchGuard | None


class BatchGuardCache:
    """The guards of the batches that are exported."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._computed: dict[str, ComputedGuard] = {}  # by batch id

    def get(self, store: Queryable, runs: Sequence[Run], study_ids: Collection[str]) -> list[BatchGuard]:
        """Return what is known of the batches of these runs; study_ids: batches that are exported as studies."""
        ids = [run.batch_id for run in runs if run.batch_id and run.batch_id not in study_ids]
        batch_ids = list(dict.fromkeys(ids))[:MOST_BATCHES]
        self._computed = {batch_id: self._computed[batch_id] for batch_id in batch_ids if batch_id in self._computed}
        outdated = [batch_id for batch_id in batch_ids if self._is_outdated(batch_id, runs)]
        if outdated:
            batch_id = min(outdated, key=self._computed_s)
            states = _states(batch_id, runs)
            self._computed[batch_id] = ComputedGuard(self._clock(), states, _guard_of(store, batch_id))
        return [computed.guard for computed in self._computed.values() if computed.guard]

    def _is_outdated(self, batch_id: str, runs: Sequence[Run]) -> bool:
        computed = self._computed.get(batch_id)
        if computed is None:
            return True
        has_changed = computed.states != _states(batch_id, runs) or any(
            run.batch_id == batch_id and not run.state.is_final for run in runs
        )
        return has_changed and self._clock() - computed.computed_s >= COMPARED_EVERY_S

    def _computed_s(self, batch_id: str) -> float:
        computed = self._computed.get(batch_id)
        return computed.computed_s if computed else 0.0


def _states(batch_id: str, runs: Sequence[Run]) -> Collection[tuple[str, str]]:
    return frozenset((run.id, run.state.value) for run in runs if run.batch_id == batch_id)


def _guard_of(store: Queryable, batch_id: str) -> BatchGuard | None:
    """Compare the batch's arms as Compare does; None unless two were measured."""
    runs = [run for run in runs_of_batch(store, batch_id) if run.started_at]
    if not 1 < len(runs) <= MOST_RUNS_OF_BATCH:
        return None
    judged = [answer for answer in comparison_of(store, runs).answers if all(map(_is_measured, answer.replicates))]
    return BatchGuard(batch_id, _refused_pairs(judged)) if judged else None


def _is_measured(replicates: Sequence[Replicate]) -> bool:
    return any(replicate.value is not None for replicate in replicates)


def _refused_pairs(answers: Sequence[ArmComparison]) -> Mapping[str, int]:
    return Counter(row.code.value for answer in answers for row in answer.refused)
