"""From stored samples of a machine to the answer: what slowed a run down refuses it, and idle company does not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from analysis.evidence.objectives import parse_objective
from analysis.guard import RowCode, RowStatus
from domain import Run
from reports.arms.comparison import ComparisonOptions, comparison_of
from reports.arms.facts import facts_of
from samples import Batch, CounterSample, GpuSample, HostSample
from storage.store import Store
from tests.analysis.comparison.ideal_engine import T0, IdealEngine, repeats
from tests.analysis.comparison.stored.test_store_to_answer import PROVENANCE, stored

pytestmark = pytest.mark.wide

SECONDS = 60  # of samples: longer than the load
DURING = {"started_at": T0 - timedelta(minutes=5), "ended_at": T0 + timedelta(hours=1)}
WITH_GPU = {"provenance": PROVENANCE | {"gpus": [{"name": "H100"}]}}


def gpu(run_id: str, second: int, uuid: str = "GPU-0", **fields: Any) -> GpuSample:
    actual_fields: dict[str, Any] = {
        "gpu_name": "H100",
        "gpu_uuid": uuid,
        "sm_clock_mhz": 1900.0,
        "sm_clock_max_mhz": 1980.0,
        "utilization_ratio": 0.9,
        "throttle_reasons": 0,
        "other_memory_bytes": 0,
        "other_utilization_ratio": 0.0,
    }
    return GpuSample(run_id, T0 + timedelta(seconds=second), float(second), "m1", 0, **actual_fields | fields)


def host(run_id: str, second: int, waited: float, value: float) -> HostSample:
    """The server wants one core and waits for the share `waited` of that time; everybody else uses so many cores."""
    when = T0 + timedelta(seconds=second)
    ran = second * (1 - waited)
    return HostSample(
        run_id, when, float(second), "m1",
        cpu_seconds_total=ran, scheduled_seconds_total=ran, runnable_wait_seconds_total=second * waited,
        throttled_seconds_total=0.0, host_cpu_seconds_total=8.0 * second,
        host_busy_seconds_total=ran + value * second, host_steal_seconds_total=0.0,
    )  # fmt: skip


def two_arms(store: Store, **updates: Any) -> tuple[list[Run], list[Run]]:
    """Two starts each, plain and with drafts, 24 hours apart."""
    rng = np.random.default_rng(5)
    sides = []
    for k in (0, 4):
        engine = IdealEngine(0.02, drafts=k, start_sd=0.005)
        runs = repeats(engine, "five-prompts", 2, rng, token_scale=0.1, parallel=2)
        sides.append([stored(store, facts, k, 24.0 * (2 * k + n), **updates) for n, facts in enumerate(runs)])
    return sides[0], sides[1]


def standing(store: Store, runs: list[Run], code: RowCode) -> tuple[RowStatus, bool]:
    """That of the row, and whether the answer is ranked."""
    (answer,) = comparison_of(store, runs).answers
    return next(row.status for row in answer.rows if row.code is code), answer.is_ranked


@pytest.mark.parametrize(("bits", "expected"), [(0x40, RowStatus.MATTERS), (0x00, RowStatus.SAME)])
def test_throttling_that_a_gpu_told_is_asked(store: Store, bits: int, expected: RowStatus) -> None:
    a, b = two_arms(store, **WITH_GPU)
    for run in (*a, *b):
        mine = bits if run in b else 0
        store.write(Batch(tuple(gpu(run.id, n, throttle_reasons=mine) for n in range(SECONDS)))).result()
    found, is_ranked = standing(store, [*a, *b], RowCode.THROTTLING)
    assert found is expected and is_ranked is (expected is RowStatus.SAME)


@pytest.mark.parametrize(("watts", "expected"), [(350.0, RowStatus.MATTERS), (700.0, RowStatus.SAME)])
def test_a_power_limit_that_one_arm_has_is_seen(store: Store, watts: float, expected: RowStatus) -> None:
    """The GPUs are of one kind, and the clocks do not show it."""
    frozen = {"name": "H100", "uuid": "GPU-0", "power_limit_w": 700.0, "application_clock_mhz": 1980.0}
    modes = {"mig": False, "ecc": True, "persistence": True}
    a, b = two_arms(store, provenance=PROVENANCE | {"driver_version": "580.65", "gpus": [frozen | modes]})
    for run in (*a, *b):
        mine = watts if run in b else 700.0
        store.write(Batch(tuple(gpu(run.id, n, power_limit_w=mine) for n in range(SECONDS)))).result()
    found, is_ranked = standing(store, [*a, *b], RowCode.GPU_LIMITS)
    assert found is expected and is_ranked is (expected is RowStatus.SAME)


@pytest.mark.parametrize(("waited", "expected"), [(0.8, RowStatus.MATTERS), (0.01, RowStatus.SAME)])
def test_waits_queried_on_a_crowded_host(store: Store, waited: float, expected: RowStatus) -> None:
    a, b = two_arms(store)
    for run in (*a, *b):
        mine, others = (waited, 7.5) if run in b else (0.01, 0.1)
        store.write(Batch(tuple(host(run.id, n, mine, others) for n in range(SECONDS)))).result()
    found, is_ranked = standing(store, [*a, *b], RowCode.STARVATION)
    assert found is expected and is_ranked is (expected is RowStatus.SAME)


def test_startup_waits_belong_to_their_start(store: Store) -> None:
    a, b = two_arms(store, started_at=T0, ready_at=T0 + timedelta(seconds=20))
    for run in (*a, *b):
        mine = 0.8 if run in b else 0.01
        store.write(Batch(tuple(host(run.id, n, mine, 7.5) for n in range(20)))).result()
        store.write(Batch(tuple(host(run.id, n, 0.01, 7.5) for n in range(23, SECONDS)))).result()  # under its load
    (answer,) = comparison_of(store, [*a, *b], ComparisonOptions(objective=parse_objective("startup_s"))).answers
    assert next(row.status for row in answer.rows if row.code is RowCode.STARVATION) is RowStatus.MATTERS
    starvation_ratios_by_run_id = {
        facts.run_id: facts.startup_conditions[0].starvation_ratio for facts in facts_of(store, [*a, *b])
    }
    assert starvation_ratios_by_run_id == pytest.approx(
        {run.id: 0.8 if run in b else 0.01 for run in (*a, *b)}, abs=0.05
    )


@pytest.mark.parametrize(
    ("uuid", "tokens", "expected"),
    [
        ("GPU-0", 50.0, RowStatus.MATTERS),
        ("GPU-1", 50.0, RowStatus.TOLD),
        ("GPU-0", 0.0, RowStatus.SAME),
    ],
    ids=["the same GPU", "another GPU", "idle on the same GPU"],
)
def test_other_server_counts_by_gpu_and_work(store: Store, uuid: str, tokens: float, expected: RowStatus) -> None:
    """The launcher itself puts runs on GPU 0 and GPU 1 side by side, and many boxes have a server that idles."""
    a, b = two_arms(store, **WITH_GPU)
    near = b[0].model_copy(update={"id": "near", **DURING})
    store.save_run(near)
    for run_id, text in ((a[0].id, "GPU-0"), (near.id, uuid)):
        store.write(Batch(tuple(gpu(run_id, n, text) for n in range(SECONDS)))).result()
    counters = (
        CounterSample(near.id, T0 + timedelta(seconds=n), float(n), "vllm.counter", generation_tokens_total=tokens * n)
        for n in range(SECONDS)
    )
    store.write(Batch(tuple(counters))).result()
    found, is_ranked = standing(store, [*a, *b], RowCode.NEIGHBOURS)
    assert found is expected and is_ranked is (expected is not RowStatus.MATTERS)


@pytest.mark.parametrize(
    ("machine", "gpu_name", "expected"),
    [
        ("m2", "H100", RowStatus.MATTERS),
        ("m1", "H200", RowStatus.MATTERS),
        ("m1", "H100", RowStatus.SAME),
    ],
)
def test_a_run_of_other_hardware_is_not_ranked(store: Store, machine: str, gpu_name: str, expected: RowStatus) -> None:
    """Also one that came in a bundle, which says of itself where it ran."""
    a, b = two_arms(store, **WITH_GPU)
    fields = {"machine_id": machine, "provenance": PROVENANCE | {"gpus": [{"name": gpu_name}]}, "kind": "imported"}
    b = [one.model_copy(update=fields) for one in b]
    for run in b:
        store.save_run(run)
    found, is_ranked = standing(store, [*a, *b], RowCode.HARDWARE)
    assert found is expected and is_ranked is (expected is RowStatus.SAME)
