"""Windows of watched runs, the dearest to read: taken from whoever keeps them, and not asked for without need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from analysis.comparison.log_speed import LogSpeed
from domain import Config, Run, RunState
from reports.arms.comparison import comparison_of, incomparable_runs, offered_repeats
from reports.arms.facts import stored_log_speeds
from samples import Batch, CounterSample
from storage.store import Store
from tests.counted_windows import CountedWindows

T0 = datetime(2026, 11, 20, 12, tzinfo=UTC)
SECONDS = 30


def watched(store: Store, number: int) -> Run:
    """A run without a load of ours."""
    t0 = T0 + timedelta(hours=number)
    run = Run(
        id=f"r{number}", name=f"r{number}", color=0, config=Config(engine="vllm", model="org/m"), machine_id="m",
        state=RunState.FINISHED, created_at=t0, ready_at=t0, ended_at=t0 + timedelta(seconds=SECONDS),
    )  # fmt: skip
    store.save_run(run)
    looks = (
        CounterSample(
            run.id, t0 + timedelta(seconds=second), float(second), "vllm.counter", requests_running=1.0,
            generation_tokens_total=100.0 * second, inter_token_count_total=100.0 * second, first_tokens_total=0.0,
            prompt_tokens_total=0.0,
        )
        for second in range(SECONDS)
    )  # fmt: skip
    store.write(Batch(tuple(looks))).result()
    return run


@pytest.fixture
def runs(store: Store) -> list[Run]:
    return [watched(store, number) for number in range(4)]


def test_kept_windows_give_the_same_answer(store: Store, runs: list[Run]) -> None:
    counted, asked_for = CountedWindows(store), list[list[str]]()

    def log_speeds_of(_: object, runs: Sequence[Run]) -> Mapping[str, LogSpeed | None]:
        asked_for.append([run.id for run in runs])
        return stored_log_speeds(store, runs)

    report = comparison_of(counted, runs[:2], log_speeds_of=log_speeds_of)
    refused = incomparable_runs(counted, runs[:2], log_speeds_of)
    assert counted.asked == [] and asked_for[0] == asked_for[-1] == ["r0", "r1"]
    assert (report, refused) == (comparison_of(store, runs[:2]), incomparable_runs(store, runs[:2]))
    assert all(run.log and run.log.windows for arm in report.arms for run in arm.runs), "windows are what is compared"


def test_repeats_offered_without_windows(store: Store, runs: list[Run]) -> None:
    counted, report = CountedWindows(store), comparison_of(store, runs[:2])
    offered_repeats(counted, runs[:2], report)
    assert counted.asked == []
