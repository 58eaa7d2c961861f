"""A run whose data-parallel ranks only the log knows: their newest lines summed, null where one is silent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from collectors.logs.log_collector import log_reader
from domain import Config, Run
from samples import Batch, LogSample
from storage.queries import run_data
from storage.store import Store

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def run_of(engine: str, **fields: Any) -> Run:
    given_fields = {"created_at": NOW, "ready_at": NOW} | fields
    return Run(id="r1", name="r1", color=0, config=Config(engine=engine), machine_id="m", **given_fields)


def rows(store: Store) -> list[dict[str, Any]]:
    return store.query("FROM run_samples ORDER BY ts").to_pylist()


def line(second: float, rank: int, tps: float, engine: str = "vllm", **fields: Any) -> LogSample:
    given_fields = {"ts_source": "stamp", "requests_running": 2.0, "requests_waiting": 1.0} | fields
    when, offset = NOW + timedelta(seconds=second), int(second * 10) + rank
    return LogSample("r1", when, offset, offset, f"{engine}.log", engine_index=rank, generation_tps=tps, **given_fields)


def save_samples(store: Store, engine: str, *samples: LogSample) -> None:
    store.write(Batch(samples))
    store.save_run(run_of(engine))


def test_a_real_log_of_two_vllm_engines(store: Store) -> None:
    run = run_of("vllm", ready_at=datetime(2026, 11, 20, 19, 13, 21, tzinfo=UTC))
    reader, now = log_reader(run), datetime(2026, 11, 20, 23, 0, tzinfo=UTC)
    log = (FIXTURES / "vllm/0.32-dp2.log").read_bytes()
    store.write(Batch(tuple(p.sample for p in [*reader.feed(log, run, now), *reader.close(run, now)])))
    store.save_run(run)
    first, second = rows(store)
    assert (first["decode_tps"], second["decode_tps"]) == (pytest.approx(306.3 + 353.8), pytest.approx(204.6 + 255.3))
    assert (first["requests_running"], first["requests_waiting"], second["requests_running"]) == (4, 0, 0)
    assert (second["window_s"], second["decode_tokens"]) == (10, pytest.approx(4599))
    assert (first["engine_index"], first["activity"]) == (None, "mixed")
    windows = run_data.windows(store, ["r1"], 2.0)["r1"]
    assert [w.decode_tps for w in windows] == [first["decode_tps"], second["decode_tps"]]


def test_idle_vllm_rank_adds_nothing(store: Store) -> None:
    lines = [line(s, rank, 40.0, prompt_tps=0.0) for s in (10, 20) for rank in (0, 1)]
    idle = line(30, 1, 0.0, prompt_tps=0.0, requests_running=0.0, requests_waiting=0.0)
    save_samples(store, "vllm", *lines, idle, *(line(s, 0, 40.0, prompt_tps=0.0) for s in (30, 40, 200)))
    assert [row["decode_tps"] for row in rows(store)] == [80, 80, 40, 40, 40]
    assert [row["requests_running"] for row in rows(store)] == [4, 4, 2, 2, 2]
    assert [row["activity"] for row in rows(store)] == ["mixed", "active", "active", "active", "mixed"]


def test_a_silent_rank_makes_the_sum_unknown(store: Store) -> None:
    steady = [line(s, 0, 80.0, "sglang", kind="decode") for s in range(3, 60, 3)]
    save_samples(store, "sglang", *steady, *(line(s + 0.5, 1, 90.0, "sglang", kind="decode") for s in range(3, 30, 3)))
    actual_rows = rows(store)
    assert [row["decode_tps"] for row in actual_rows[:4]] == [80, 170, 170, 170]
    assert (actual_rows[-1]["decode_tps"], actual_rows[-1]["reason"]) == (None, "rank_silent rank=1 seconds=30")
    assert sum(row["decode_s"] for row in actual_rows[1:]) == 54  # no second counts twice


def test_acceptance_over_ranks_is_of_all_drafts(store: Store) -> None:
    busy = {"accepted_tokens": 300.0, "drafted_tokens": 400.0, "acceptance_length": 4.0, "per_position": [1.0, 0.8]}
    slow = {"accepted_tokens": 100.0, "drafted_tokens": 400.0, "acceptance_length": 2.0, "per_position": [0.6, 0.2]}
    save_samples(store, "vllm", line(10, 0, 40.0, **busy), line(10, 1, 20.0, **slow))
    [row] = rows(store)
    assert (row["acceptance_length"], row["acceptance_rate"]) == (3.0, 0.5)
    assert row["per_position"] == [pytest.approx(0.8), pytest.approx(0.5)]


def test_unaccepting_rank_counts_its_drafts(store: Store) -> None:
    half = {"accepted_tokens": 10.0, "drafted_tokens": 20.0, "acceptance_length": 2.0, "per_position": [0.6, 0.4]}
    none = {"accepted_tokens": 0.0, "drafted_tokens": 20.0, "acceptance_length": 1.0, "per_position": [0.0, 0.0]}
    save_samples(store, "vllm", line(10, 0, 40.0, **half), line(10, 1, 20.0, **none))
    [row] = rows(store)
    assert (row["acceptance_length"], row["acceptance_rate"]) == (1.5, 0.25)
    assert row["per_position"] == [pytest.approx(0.3), pytest.approx(0.2)]


def test_sglangs_tokens_per_step_over_ranks(store: Store) -> None:
    fast = line(3, 0, 90.0, "sglang", kind="decode", acceptance_length=3.0, acceptance_rate=0.5)
    save_samples(
        store, "sglang", fast, line(3, 1, 10.0, "sglang", kind="decode", acceptance_length=1.0, acceptance_rate=0.0)
    )
    [row] = rows(store)
    assert (row["decode_tps"], row["tokens_per_step"]) == (100, 2.5)
    assert row["acceptance_length"] == 2.5
