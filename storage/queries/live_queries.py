"""Queries for the rows pushed to the Live page: one per kind for all watched runs, because planning costs most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from analysis.runs.conditions import HARDWARE
from storage.queries.run_data import Queryable
from storage.queries.statements import statement

Row = dict[str, Any]
SAME_TROUBLE_S = 60.0  # a recurrence within this time is the same problem
Since = Mapping[str, datetime | None]  # run id -> time after which rows are selected, None for all


def engine_points(store: Queryable, since: Since, until: datetime | None = None) -> dict[str, pa.Table]:
    """Return the engine time series of each run, oldest first, ranks summed; `t` in epoch seconds."""
    return _points(store, "engine_points", since, until)


def host_points(store: Queryable, since: Since, until: datetime | None = None) -> dict[str, pa.Table]:
    """Return CPU and memory of the servers' process trees and of the host over time."""
    return _points(store, "host_points", since, until)


def gpu_points(store: Queryable, since: Since, until: datetime | None = None) -> dict[str, pa.Table]:
    """Return power and clock of the runs' GPUs over time: watts summed, the slowest clock."""
    return _points(store, "gpu_points", since, until)


def collector_errors(store: Queryable, run_ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return, per run, the error of each collector whose last tick failed."""
    errors_by_run: dict[str, dict[str, str]] = {run_id: {} for run_id in run_ids}
    for row in store.query(statement("collector_errors"), {"run_ids": list(run_ids)}).to_pylist():
        errors_by_run[row["run_id"]][row["collector"]] = row["error"] or "it failed without a message"
    return errors_by_run


def recent_server_latency(
    store: Queryable, run_ids: Sequence[str], seconds: float
) -> dict[str, dict[str, float | None]]:
    """Return, per run and metric, the mean over the last seconds from the server's histogram; None: no observation."""
    latency_by_run: dict[str, dict[str, float | None]] = {run_id: {} for run_id in run_ids}
    for row in store.query(
        statement("recent_server_latency"), {"run_ids": list(run_ids), "seconds": seconds}
    ).to_pylist():
        latency_by_run[row["run_id"]][row["metric"]] = row["mean_ms"]
    return latency_by_run


def marks(store: Queryable, run_ids: Sequence[str], limit: int = 100) -> dict[str, list[Row]]:
    """Return each run's loads, phases and problems as `t` (epoch seconds), `kind` and `text`, the newest per kind."""
    marks_by_run: dict[str, list[Row]] = {run_id: [] for run_id in run_ids}
    params = {"run_ids": list(run_ids), "most": limit, "hardware": HARDWARE, "apart_s": SAME_TROUBLE_S}
    for row in store.query(statement("live_marks"), params).to_pylist():
        marks_by_run[row.pop("run_id")].append(row)
    return marks_by_run


def _points(store: Queryable, name: str, since: Since, until: datetime | None) -> dict[str, pa.Table]:
    if not since:
        return {}
    rows = store.query(statement(name), {"run_ids": list(since), "since": _earliest(since), "until": until})
    return {run_id: _after(rows, run_id, after) for run_id, after in since.items()}


def _after(rows: pa.Table, run_id: str, after: datetime | None) -> pa.Table:
    """The rows of a run after the given time."""
    is_selected = pc.equal(rows["run_id"], run_id)
    if after is not None:
        is_selected = pc.and_(is_selected, pc.greater(rows["ts"], pa.scalar(after, rows["ts"].type)))
    return rows.filter(is_selected)


def _earliest(since: Since) -> datetime | None:
    times = [time for time in since.values() if time is not None]
    return min(times) if times and len(times) == len(since) else None
