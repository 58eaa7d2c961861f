"""The machines of watched runs: which one is another than this, and of further ones what agents saw.

A host name is not shown: guests watch too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from math import fsum

from domain import Run, utc_now
from machine.identity import machine_id
from storage.ask.machine_queries import machine_labels, without_host
from storage.ask.node_queries import NodeRow, nodes
from storage.ask.queries import Asked
from web.live.protocol import LiveNode

LAST = timedelta(seconds=10)


def live_nodes(store: Asked, runs: Sequence[Run]) -> dict[str, list[LiveNode]]:
    """What was seen in the last seconds, of an ended run in all of it, by run id; a run on one machine has none."""
    ended = [run.id for run in runs if run.state.is_final]
    live = [run.id for run in runs if not run.state.is_final]
    found = nodes(store, ended) if ended else []
    found += nodes(store, live, utc_now() - LAST) if live else []
    labels = machine_labels(store) if found else {}
    by_run: dict[str, list[LiveNode]] = {}
    for row in found:
        by_run.setdefault(row.run_id, []).append(_node(row, labels.get(row.machine_id, row.machine_id)))
    return by_run


def machines_elsewhere(store: Asked, runs: Sequence[Run]) -> dict[str, str]:
    """Run id -> what the machine of its server is called, where that is another than this; an imported log has none."""
    here = machine_id()
    away = [run for run in runs if run.machine_id != here and run.kind != "imported"]
    labels = machine_labels(store) if away else {}
    return {run.id: labels.get(run.machine_id) or without_host(run.machine_id) for run in away}


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
    """The sum, or None where one of them is unknown."""
    given = list(values)
    known = [value for value in given if value is not None]
    return fsum(known) if known and len(known) == len(given) else None
