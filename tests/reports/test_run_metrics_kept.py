"""Metrics of a run that Explore draws beside its speeds: as in Compare, and null where nobody counted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from analysis.comparison.replicates import tokens_per_j
from domain import Config, Run, RunState
from load_records import Load, RequestRecord
from reports.arms.facts import facts_of
from reports.runs.run_line import compute_lines
from samples import Batch, CounterSample, GpuSample, HostSample, Sample
from service.run_lines import RunLineKeeper
from settings import Settings
from storage.queries.explore_queries import METRICS, View, explore_sql, read_view
from storage.queries.run_queries import RunFilter
from storage.store import Store

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
SECONDS, GIB = 60, 1 << 30
FURTHER = ("acceptance_rate", "preemptions", "kv_peak", "gpu_memory", "power", "per_joule", "server_cores", "host_busy")


def run_of(run_id: str) -> Run:
    times: dict[str, Any] = {"created_at": NOW, "started_at": NOW, "ready_at": NOW}
    ended_at = NOW + timedelta(seconds=SECONDS)
    config = Config(engine="vllm", argv=("vllm", "serve", "m"))
    return Run(
        id=run_id,
        name=run_id,
        color=0,
        config=config,
        machine_id="m",
        state=RunState.FINISHED,
        ended_at=ended_at,
        **times,
    )


def samples_of(run_id: str) -> Iterator[Sample]:
    """40 s of requests, between which two GPUs draw 200 and 300 W and the server uses 2.5 of 8 cores."""
    yield Load(run_id, "l", NOW, "pitwall", "w")
    for second in range(10, 50):
        at = NOW + timedelta(seconds=second)
        yield RequestRecord(
            run_id, str(second), "w", "measure", "prose", 0, 1, at, ttft_ms=50.0, decode_ms=900.0, total_ms=1000.0,
            completion_tokens=100, load_id="l", phase_index=0, sequence=second,
        )  # fmt: skip
    for second in range(SECONDS):
        at, n = NOW + timedelta(seconds=second), float(second)
        yield CounterSample(
            run_id, at, n, "vllm.counter", generation_tokens_total=100 * n, first_tokens_total=1.0,
            inter_token_count_total=50 * n, prompt_tokens_total=9.0, drafts_total=50 * n, draft_tokens_total=100 * n,
            accepted_tokens_total=50 * n, requests_running=1.0, preemptions_total=float(second > 30) * 3,
            kv_usage_ratio=0.75 if second == 20 else 0.5,
        )  # fmt: skip
        for index, watts in enumerate((200.0, 300.0)):
            held_index = (10 + index) * GIB if second == 40 else 9 * GIB
            yield GpuSample(
                run_id, at, n, "m", index, gpu_uuid=f"GPU-{index}", power_w=watts, energy_j_total=watts * n,
                process_memory_bytes=held_index,
            )  # fmt: skip
        yield GpuSample(run_id, at, n, "m", 2, gpu_uuid="GPU-2", power_w=0.0, energy_j_total=0.0)  # not one of its own
        yield HostSample(
            run_id, at, n, "m", cpu_seconds_total=2.5 * n, scheduled_seconds_total=2.5 * n,
            runnable_wait_seconds_total=0.0, throttled_seconds_total=0.0, host_cpu_seconds_total=8.0 * n,
            host_busy_seconds_total=4.0 * n, host_steal_seconds_total=0.0,
        )  # fmt: skip


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    """A run of which all is known, and one of which nothing was ever looked at."""
    opened = Store.open(settings)
    for run_id in ("known", "unknown"):
        opened.save_run(run_of(run_id))
    opened.write(Batch(tuple(samples_of("known")))).result()
    yield opened
    opened.close()


def test_run_numbers_match_the_measurement(store: Store) -> None:
    line = compute_lines(store, [run_of("known")])["known"]
    assert (line["preemptions"], line["kv_usage_peak_ratio"], line["gpu_memory_peak_gib"]) == (3.0, 0.75, 21.0)
    assert line["acceptance_rate"] == pytest.approx(0.5)
    assert line["gpu_power_w"] == pytest.approx(500.0) and line["server_cores"] == pytest.approx(2.5)
    assert line["host_busy_ratio"] == pytest.approx(0.5) and line["tokens_per_j"] == pytest.approx(4000 / (500 * 40))
    (facts,) = facts_of(store, [run_of("known")])
    assert line["tokens_per_j"] == tokens_per_j(facts.loads, facts.conditions), "Compare has the same"


def test_explore_draws_unknown_as_null(store: Store) -> None:
    while RunLineKeeper(store).keep_next():
        pass
    ys_by_run_ids_by_name = {
        name: {row["run_id"]: row["y"] for row in read_view(store, explore_sql(RunFilter(), View(name, "k"), METRICS))}
        for name in FURTHER
    }
    assert all(values["known"] for values in ys_by_run_ids_by_name.values())
    assert {name: values["unknown"] for name, values in ys_by_run_ids_by_name.items()} == dict.fromkeys(FURTHER)


def test_preemptions_unknown_after_hidden_restart(store: Store) -> None:
    at = NOW + timedelta(seconds=SECONDS)
    again = CounterSample(
        "known", at, float(SECONDS), "vllm.counter", generation_tokens_total=0.0, preemptions_total=0.0
    )
    store.write(Batch((again,))).result()
    assert compute_lines(store, [run_of("known")])["known"]["preemptions"] is None
