"""Queries for machine conditions (clocks, power, CPU waits) during windows of runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from analysis.loads.endurance import MEMORY_PARTS, MemoryGrowth
from analysis.runs.condition_sums import GpuSums, HostSums, conditions_of
from analysis.runs.conditions import Conditions, Span
from storage.queries.live_queries import collector_errors
from storage.queries.run_data import Queryable
from storage.queries.statements import statement

EDGE_S = 2.0  # a sample this far outside a window may stand for its end


def conditions(store: Queryable, spans: Sequence[Span]) -> list[Conditions]:
    """Return the conditions of each window, in order; several windows may belong to one run."""
    if not spans:
        return []
    hosts = {row.pop("stretch"): HostSums(**row) for row in _rows(store, "conditions", spans)}
    gpus: dict[int, list[GpuSums]] = {}
    for row in _rows(store, "gpu_conditions", spans):
        gpus.setdefault(row.pop("stretch"), []).append(GpuSums(**row))
    silent = collector_errors(store, [span.run_id for span in spans])
    return [conditions_of(span, hosts.get(n), gpus.get(n, []), silent[span.run_id]) for n, span in enumerate(spans)]


def memory_growth(store: Queryable, span: Span) -> list[MemoryGrowth]:
    """Return the memory of each sampled GPU in parts of a window; none without samples in its first and last third."""
    params = {"run_id": span.run_id, "began_at": span.began_at, "ended_at": span.ended_at, "parts": MEMORY_PARTS}
    rows = store.query(statement("memory_of_parts"), params).to_pylist()
    return [MemoryGrowth(**row) for row in rows]


def _rows(store: Queryable, name: str, spans: Sequence[Span]) -> list[dict[str, Any]]:
    params = {
        "run_ids": [span.run_id for span in spans],
        "began_at": [span.began_at for span in spans],
        "ended_at": [span.ended_at for span in spans],
        "edge_s": EDGE_S,
    }
    rows: list[dict[str, Any]] = store.query(statement(name), params).to_pylist()
    return [row | {"unknown": json.loads(row["unknown"] or "{}")} for row in rows]
