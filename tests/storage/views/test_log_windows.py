"""Over which time a log's lines speak, where only their distances tell it, and the counters of the same time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain import Config, Run
from samples import Batch, CounterSample, LogSample
from storage.queries import run_data
from storage.store import Store

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
UNTOLD = "log_tells_no_window"


def save(store: Store, *samples: Any, **config: Any) -> None:
    store.write(Batch(samples))
    run = Run(id="r1", name="r1", color=0, config=Config(**config), machine_id="m", created_at=NOW, ready_at=NOW)
    store.save_run(run)


def vllm(second: float, tps: float = 50.0, **fields: Any) -> LogSample:
    given_fields = {"ts_source": "stamp", "requests_running": 1.0, "prompt_tps": 0.0} | fields
    when = NOW + timedelta(seconds=second)
    return LogSample("r1", when, int(second), int(second), "vllm.log", generation_tps=tps, **given_fields)


def column_values(store: Store, column: str, view: str = "run_samples") -> list[Any]:
    return list(store.query(f"SELECT {column} FROM {view} ORDER BY ts")[column].to_pylist())


def test_usual_line_distance_is_the_window(store: Store) -> None:
    """30 s and more are silences behind empty windows; 6 s and 4 s come of a stamp's whole seconds."""
    lines = ((5, 50), (11, 50), (15, 0), (45, 50), (50, 0), (90, 50), (95, 0), (200, 0))
    save(store, *(vllm(second, tps) for second, tps in lines), engine="vllm")
    assert column_values(store, "window_s") == [5.0] * 8
    assert column_values(store, "decode_tokens") == [250.0, 250.0, 0.0, 250.0, 0.0, 250.0, 0.0, 0.0]


def test_the_environment_of_the_run_says_it_first(store: Store) -> None:
    env = {"VLLM_LOG_STATS_INTERVAL": "0.5"}
    save(store, vllm(1), vllm(2), vllm(2.9), engine="vllm", env=env)
    assert column_values(store, "window_s") == [0.5] * 3


@pytest.mark.parametrize("source", ["read", "near"])
def test_log_without_stamps_has_no_window(store: Store, source: str) -> None:
    save(store, *(vllm(10 * i, ts_source=source) for i in (1, 2, 3)), engine="vllm")
    assert column_values(store, "window_s") == [None] * 3
    assert (column_values(store, "decode_tps"), column_values(store, "decode_tokens")) == ([50.0] * 3, [None] * 3)
    assert set(column_values(store, "reason")) == {UNTOLD}


def sglang(second: float, tps: float) -> LogSample:
    when = NOW + timedelta(seconds=second)
    return LogSample("r1", when, int(second), int(second), "sglang.log", kind="decode", generation_tps=tps)


def test_sglang_lines_checked_since_previous_line(store: Store) -> None:
    counted = [
        CounterSample("r1", NOW + timedelta(seconds=s), float(s), "sglang.counter", decode_tokens_total=100.0 * s)
        for s in range(40)
    ]
    save(store, *counted, *(sglang(s, 95.0) for s in (3.4, 7.4, 12.4)), engine="sglang")
    assert column_values(store, "window_s", "samples_crosscheck") == [None, 4.0, 5.0]
    assert column_values(store, "counter_tps", "samples_crosscheck") == [None, pytest.approx(100), pytest.approx(100)]
    [check] = run_data.crosschecks(store, ["r1"]).values()
    assert (check.windows, check.difference) == (2, pytest.approx(5 / 95))
