"""What a run's machine gave it while our requests were measured: watts, tokens per joule, CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.comparison.replicates import tokens_per_j
from analysis.evidence.loads import LoadRecord
from analysis.runs.conditions import Conditions
from reports.arms.facts import evidence_of, measured_span
from storage.ask.condition_queries import conditions
from storage.ask.load_queries import loads
from storage.ask.queries import Asked


@dataclass(frozen=True, slots=True)
class UnderLoad:
    """As Compare has them; None where it is not known, or no request of ours was measured."""

    tokens_per_j: float | None = None  # of all loads
    gpu_power_w: float | None = None  # mean of all its GPUs together, over all loads
    server_cores: float | None = None  # mean, of the last load
    host_busy_ratio: float | None = None  # mean share of all cores in use by anybody, of the last load


def under_load(store: Asked, run_ids: Sequence[str]) -> dict[str, UnderLoad]:
    """What is known of each of these runs, by its id; one question a kind for all of them."""
    found = {run_id: evidence_of(its) for run_id, its in loads(store, run_ids, with_pieces=False).items()}
    spans = [span for its in found.values() for load in its if (span := measured_span(load))]
    met = conditions(store, spans)
    return {run_id: _of_run(its, [one for one in met if one.run_id == run_id]) for run_id, its in found.items()}


def _of_run(of_run: Sequence[LoadRecord], met: Sequence[Conditions]) -> UnderLoad:
    if not met:
        return UnderLoad()
    return UnderLoad(tokens_per_j(of_run, met), mean_w(of_run, met), met[-1].own_cores, met[-1].host_busy_ratio)


def mean_w(of_run: Sequence[LoadRecord], met: Sequence[Conditions]) -> float | None:
    """Watts of all its GPUs over the stretches in which our requests were measured; `met`: the conditions of each."""
    spans = [span for load in of_run if (span := measured_span(load))]
    seconds = sum(span.seconds for span in spans)
    energies = [one.energy_j for one in met if one.energy_j is not None]
    return sum(energies) / seconds if seconds and energies and len(energies) == len(spans) else None
