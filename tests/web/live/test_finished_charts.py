"""All of a run that has ended is computed once, and what is sent of it is thinned."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from domain import Config, Run, RunState
from samples import Batch, CounterSample
from settings import Settings
from storage.store import Store
from web.live.finished_charts import FinishedCharts
from web.live.reader import StoreReader

T0 = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(Settings(data_dir=tmp_path / "data"))
    yield store
    store.close()


class Counted:
    """The store, and how often it was asked for points."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.of_points = 0
        self.meanwhile: Callable[[], None] = lambda: None

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        if "points_in(" in sql:
            self.of_points += 1
            self.meanwhile()
        return self._store.query(sql, params)


def counters(second: int, value: float) -> CounterSample:
    return CounterSample(
        "r1", T0 + timedelta(seconds=second), float(second), "vllm.counter", generation_tokens_total=value,
        first_tokens_total=0.0, inter_token_count_total=value, prompt_tokens_total=0.0, requests_running=1.0,
    )  # fmt: skip


def measured(store: Store, seconds: int, state: RunState) -> None:
    """A rate that goes up and down."""
    accumulate = itertools.accumulate(100.0 + 20 * (second % 3) for second in range(seconds))
    store.write(Batch(tuple(counters(second, total) for second, total in enumerate(accumulate)))).result()
    store.save_run(
        Run(id="r1", name="A", color=0, config=Config(engine="vllm"), machine_id="m", created_at=T0, state=state)
    )


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.FINISHED])
def test_a_snapshot_and_its_series_are_thinned(store: Store, state: RunState) -> None:
    measured(store, 3000, state)
    reader = StoreReader(lambda: store)
    (snapshot,) = reader.snapshots(["r1"]).values()
    (charts,) = reader.chart_parts(["r1"]).values()
    assert len(snapshot["series"]["decode_tps"]["t"]) <= 603
    assert 603 < len(charts["series"]["decode_tps"]["t"]) <= 1003
    began = T0 + timedelta(seconds=100)
    assert len(reader.interval_series("r1", began, began + timedelta(seconds=500))["decode_tps"]["t"]) == 500


def test_ended_run_computed_once_until_new_rows(store: Store) -> None:
    measured(store, 10, RunState.FINISHED)
    asked, ended = Counted(store), FinishedCharts()
    first = StoreReader(lambda: asked, finished=ended).snapshots(["r1"])["r1"]
    assert StoreReader(lambda: asked, finished=ended).snapshots(["r1"])["r1"] == first
    assert StoreReader(lambda: asked, finished=ended).chart_parts(["r1"])["r1"]["series"] == first["series"]
    assert asked.of_points == 1
    store.write(Batch((counters(10, 5000.0),))).result()
    ended.invalidate(["r1"])
    again = StoreReader(lambda: asked, finished=ended).snapshots(["r1"])["r1"]
    assert len(again["series"]["decode_tps"]["t"]) == len(first["series"]["decode_tps"]["t"]) + 1


def test_rows_during_computation_are_not_missed(store: Store) -> None:
    measured(store, 10, RunState.FINISHED)
    asked, ended = Counted(store), FinishedCharts()
    asked.meanwhile = lambda: ended.invalidate(["r1"])
    for _ in range(2):
        StoreReader(lambda: asked, finished=ended).snapshots(["r1"])
    assert asked.of_points == 2


def test_a_run_that_goes_on_is_never_kept(store: Store) -> None:
    measured(store, 10, RunState.RUNNING)
    asked, ended = Counted(store), FinishedCharts()
    for _ in range(2):
        StoreReader(lambda: asked, finished=ended).snapshots(["r1"])
    assert asked.of_points == 2
