"""The rows pushed to the Live page: one statement per kind for all watched runs: planning costs more than rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from analysis.runs.conditions import HARDWARE
from storage.ask.queries import Asked
from storage.ask.statements import statement

Row = dict[str, Any]
TROUBLE_APART_S = 60.0  # one that comes again within is the same
Since = Mapping[str, datetime | None]  # run id -> the time after which rows are wanted, None for all


def engine_points(store: Asked, since: Since, until: datetime | None = None) -> dict[str, pa.Table]:
    """What the engines showed, oldest first, ranks summed; `t` in epoch seconds. Of each run that is asked about."""
    return _points(store, "engine_points", since, until)


def host_points(store: Asked, since: Since, until: datetime | None = None) -> dict[str, pa.Table]:
    """CPU and memory of the servers' process trees and of the host."""
    return _points(store, "host_points", since, until)


def gpu_points(store: Asked, since: Since, until: datetime | None = None) -> dict[str, pa.Table]:
    """Power and clock of the runs' GPUs: watts summed, the slowest clock."""
    return _points(store, "gpu_points", since, until)


def collector_errors(store: Asked, run_ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """Per run: collector -> why it has nothing, for those whose last tick failed."""
    found: dict[str, dict[str, str]] = {run_id: {} for run_id in run_ids}
    for row in store.query(statement("collector_errors"), {"run_ids": list(run_ids)}).to_pylist():
        found[row["run_id"]][row["collector"]] = row["error"] or "it failed without a word"
    return found


def recent_server_latency(store: Asked, run_ids: Sequence[str], seconds: float) -> dict[str, dict[str, float | None]]:
    """Per run: metric -> its mean of the last seconds by the server's own histogram; None: nothing was observed."""
    found: dict[str, dict[str, float | None]] = {run_id: {} for run_id in run_ids}
    for row in store.query(
        statement("recent_server_latency"), {"run_ids": list(run_ids), "seconds": seconds}
    ).to_pylist():
        found[row["run_id"]][row["metric"]] = row["mean_ms"]
    return found


def marks(store: Asked, run_ids: Sequence[str], most: int = 100) -> dict[str, list[Row]]:
    """Per run: its loads, phases and troubles as `t` (epoch seconds), `kind` and `text`, of each kind the newest."""
    found: dict[str, list[Row]] = {run_id: [] for run_id in run_ids}
    wanted = {"run_ids": list(run_ids), "most": most, "hardware": HARDWARE, "apart_s": TROUBLE_APART_S}
    for row in store.query(statement("live_marks"), wanted).to_pylist():
        found[row.pop("run_id")].append(row)
    return found


def _points(store: Asked, question: str, since: Since, until: datetime | None) -> dict[str, pa.Table]:
    if not since:
        return {}
    rows = store.query(statement(question), {"run_ids": list(since), "since": _earliest(since), "until": until})
    return {run_id: _after(rows, run_id, moment) for run_id, moment in since.items()}


def _after(rows: pa.Table, run_id: str, moment: datetime | None) -> pa.Table:
    """A run's own rows after its moment."""
    own = rows.filter(pc.equal(rows["run_id"], run_id))
    return own if moment is None else own.filter(pc.greater(own["ts"], pa.scalar(moment, own["ts"].type)))


def _earliest(since: Since) -> datetime | None:
    known = [moment for moment in since.values() if moment is not None]
    return min(known) if known and len(known) == len(since) else None
