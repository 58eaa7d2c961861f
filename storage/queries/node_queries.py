"""The query for the other machines of runs, for the store, the published file or the lake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from storage.queries.run_data import Queryable
from storage.queries.statements import statement


@dataclass(frozen=True, slots=True)
class NodeRow:
    """Another machine of a run as sampled by its agent: medians, but maxima of memory and temperature.

    `gpus` have gpu_index, gpu_name, power_w, sm_clock_mhz, utilization_ratio, memory_used_bytes, memory_total_bytes and
    temperature_c. Fields starting with `tree` are about the agent's configured process.
    """

    run_id: str
    machine_id: str
    gpus: Sequence[Mapping[str, Any]]
    cpu_cores: float | None  # in use by all processes
    cores: int | None
    memory_used_bytes: float | None
    memory_total_bytes: int | None
    tree_cpu_cores: float | None
    tree_rss_bytes: float | None
    clock_offset_s: float | None
    clock_uncertainty_s: float | None  # the largest
    looks: int
    last_at: datetime


def nodes(store: Queryable, run_ids: Sequence[str], since: datetime | None = None) -> list[NodeRow]:
    """Return the other machines of these runs, from samples after a time or from all samples."""
    params = {"run_ids": list(run_ids), "since": since}
    return [NodeRow(**row) for row in store.query(statement("nodes"), params).to_pylist()]
