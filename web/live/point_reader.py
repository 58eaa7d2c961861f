"""Reads the rows of watched runs after a given time, from one source per run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from storage.queries import live_queries
from storage.queries.run_data import Queryable
from web.live.live_series import SampleTables


class StartTimes(NamedTuple):
    """The times after which the rows of each kind are read; None reads all."""

    engine: datetime | None = None
    host: datetime | None = None
    gpu: datetime | None = None


class MachineTables(NamedTuple):
    """The rows of one run about its server's machine, oldest first."""

    host: pa.Table
    gpu: pa.Table


def read_machine_points(
    store: Queryable, since: Mapping[str, StartTimes], until: datetime | None = None
) -> dict[str, MachineTables]:
    """Return by run id the rows of host and GPUs after its start times and not after `until`."""
    host = live_queries.host_points(store, {run_id: start.host for run_id, start in since.items()}, until)
    gpu = live_queries.gpu_points(store, {run_id: start.gpu for run_id, start in since.items()}, until)
    return {run_id: MachineTables(host[run_id], gpu[run_id]) for run_id in since}


class PointReader:
    """Reads rows, and remembers which runs have counters: their log's rows would show the same samples twice."""

    def __init__(self) -> None:
        self._runs_with_counters: set[str] = set()

    def read(
        self,
        store: Queryable,
        since: Mapping[str, StartTimes],
        until: datetime | None = None,
    ) -> dict[str, SampleTables]:
        """Return by run id the rows after its start times and not after `until`."""
        engine = live_queries.engine_points(store, {run_id: start.engine for run_id, start in since.items()}, until)
        return self.join(engine, read_machine_points(store, since, until))

    def join(self, engine: Mapping[str, pa.Table], machine: Mapping[str, MachineTables]) -> dict[str, SampleTables]:
        """Return the tables by run id, with one source of the engine's rows per run."""
        return {
            run_id: SampleTables(self._single_source(run_id, engine[run_id]), *tables)
            for run_id, tables in machine.items()
        }

    def _single_source(self, run_id: str, rows: pa.Table) -> pa.Table:
        """Keep one source per run: the log's rows only if the run never had a counter's."""
        is_counted = pc.not_equal(rows["source"], "log")
        if pc.any(is_counted).as_py():
            self._runs_with_counters.add(run_id)
        if run_id not in self._runs_with_counters or pc.all(is_counted).as_py():
            return rows
        return rows.filter(is_counted)
