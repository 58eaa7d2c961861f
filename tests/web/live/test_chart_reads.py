"""The increments of ended runs' counters are computed once for charts, tiles and metrics: of a day it takes seconds."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from storage.queries.run_queries import runs_of
from storage.queries.statements import statement
from tests.storage.queries.question_costs import ENGINES, Profiled, asked_store
from web.live.finished_charts import compute_charts

IDS = [f"sealed-{engine}-0" for engine in ENGINES]


class ReadStore:
    """A store that notes which statements read the rows of the engines' counters."""

    def __init__(self, store: Profiled) -> None:
        self.counter_statements: list[str] = []
        self._store, self._turn = store, threading.Lock()

    def query(self, sql: str, params: Any = None) -> pa.Table:
        with self._turn:
            self._store.read.clear()
            table = self._store.query(sql, params)
            if "counter_samples" in self._store.read:
                self.counter_statements.append(sql.splitlines()[0])
        return table


@pytest.mark.wide
@pytest.mark.publishes
def test_increments_are_computed_once(tmp_path: Path) -> None:
    with asked_store(tmp_path, 1) as profiled:
        store = ReadStore(profiled)
        charts_by_id = compute_charts(store, runs_of(store, IDS))
    assert charts_by_id.keys() == set(IDS) and all(charts.series for charts in charts_by_id.values())
    assert store.counter_statements == [statement(name).splitlines()[0] for name in ("whole_run_data", "load_queue")]
