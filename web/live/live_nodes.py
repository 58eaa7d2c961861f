"""The machines of watched runs: those that are not this one, and the readings that agents sent from further ones.

Host names are not shown, because guests watch too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from math import fsum

from domain import Run, utc_now
from machine.identity import machine_id
from storage.queries.machine_queries import machine_labels, without_host
from storage.queries.node_queries import NodeRow, nodes
from storage.queries.run_data import Queryable
from web.live.protocol import LiveNode

NODE_SPAN = timedelta(seconds=10)


def live_nodes(store: Queryable, runs: Sequence[Run]) -> dict[str, list[LiveNode]]:
    """Return by run id the readings of the last seconds, or over all of an ended run; runs on one machine have none."""
    ended = [run.id for run in runs if run.state.is_final]
    live = [run.id for run in runs if not run.state.is_final]
    rows = nodes(store, ended) if ended else []
    rows += nodes(store, live, utc_now() - NODE_SPAN) if live else []
    labels = machine_labels(store) if rows else {}
    by_run: dict[str, list[LiveNode]] = {}
    for row in rows:
        by_run.setdefault(row.run_id, []).append(_node(row, labels.get(row.machine_id, row.machine_id)))
    return by_run


def remote_machines(store: Queryable, runs: Sequence[Run]) -> dict[str, str]:
    """Return by run id the label of its server's machine if that is not this one; imported logs have none."""
    local_id = machine_id()
    remote_runs = [run for run in runs if run.machine_id != local_id and run.kind != "imported"]
    labels = machine_labels(store) if remote_runs else {}
    return {run.id: labels.get(run.machine_id) or without_host(run.machine_id) for run in remote_runs}


def _node(row: NodeRow, title: str) -> LiveNode:
    clocks = [gpu["sm_clock_mhz"] for gpu in row.gpus if gpu["sm_clock_mhz"] is not None]
    return LiveNode(
        title=title,
        t=row.last_at.timestamp(),
        gpu_count=len(row.gpus),
        gpu_power_w=_sum(gpu["power_w"] for gpu in row.gpus),
        gpu_sm_clock_mhz=min(clocks, default=None),
        cpu_cores=row.cpu_cores,
        cores=row.cores,
        memory_used_bytes=row.memory_used_bytes,
    )


def _sum(values: Iterable[float | None]) -> float | None:
    """Return the sum, or None if one of the values is unknown."""
    all_values = list(values)
    known_values = [value for value in all_values if value is not None]
    return fsum(known_values) if known_values and len(known_values) == len(all_values) else None
