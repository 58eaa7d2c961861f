"""The rows of watched runs after a moment each, from the store, with one source a run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from storage.ask import live_queries
from storage.ask.queries import Asked
from web.live.live_series import Points


class Moments(NamedTuple):
    """After which the rows of each kind are wanted; None: all."""

    engine: datetime | None = None
    host: datetime | None = None
    gpu: datetime | None = None


class PointReader:
    """Remembers which runs have counters: what their logs say as well is not drawn beside them."""

    def __init__(self) -> None:
        self._counted: set[str] = set()

    def read(
        self,
        store: Asked,
        since: Mapping[str, Moments],
        until: datetime | None = None,
        engine_points: Mapping[str, pa.Table] | None = None,
    ) -> dict[str, Points]:
        """What there is of each of these runs after its moments and not after `until`.

        engine_points: of runs of which somebody has asked what their engines showed.
        """
        ask, asked = live_queries, engine_points or {}
        wanted = {run_id: one.engine for run_id, one in since.items() if run_id not in asked}
        engine = {**asked, **ask.engine_points(store, wanted, until)}
        host = ask.host_points(store, {run_id: one.host for run_id, one in since.items()}, until)
        gpu = ask.gpu_points(store, {run_id: one.gpu for run_id, one in since.items()}, until)
        return {
            run_id: Points(self._without_doubles(run_id, engine[run_id]), host[run_id], gpu[run_id]) for run_id in since
        }

    def _without_doubles(self, run_id: str, rows: pa.Table) -> pa.Table:
        """One source a run: the log only where no counter ever spoke."""
        is_counted = pc.not_equal(rows["source"], "log")
        if pc.any(is_counted).as_py():
            self._counted.add(run_id)
        return rows.filter(is_counted) if run_id in self._counted else rows
