"""The question about the other machines of runs, asked of the store, the published file or the lake alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from storage.ask.queries import Asked
from storage.ask.statements import statement


@dataclass(frozen=True, slots=True)
class NodeRow:
    """Another machine of a run as its agent sampled it; medians, of memory and temperature the highest.

    `gpus` have gpu_index, gpu_name, power_w, sm_clock_mhz, utilization_ratio, memory_used_bytes, memory_total_bytes and
    temperature_c. What begins with `tree` is of the process that the agent was given.
    """

    run_id: str
    machine_id: str
    gpus: Sequence[Mapping[str, Any]]
    cpu_cores: float | None  # in use, by anybody
    cores: int | None
    memory_used_bytes: float | None
    memory_total_bytes: int | None
    tree_cpu_cores: float | None
    tree_rss_bytes: float | None
    clock_offset_s: float | None
    clock_uncertainty_s: float | None  # the greatest
    looks: int
    last_at: datetime


def nodes(store: Asked, run_ids: Sequence[str], since: datetime | None = None) -> list[NodeRow]:
    """The other machines of these runs, by what came after a time or by all there is."""
    given = {"run_ids": list(run_ids), "since": since}
    return [NodeRow(**row) for row in store.query(statement("nodes"), given).to_pylist()]
