"""From increments over a stretch to what is known of it; each number and each reason stands in the test."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from analysis.runs.condition_sums import (
    GPU_COLUMNS,
    HOST_COLUMNS,
    NO_GPU,
    NOT_RECORDED,
    GpuSums,
    HostSums,
    conditions_of,
)
from analysis.runs.conditions import SW_POWER_CAP, Conditions, Span
from reasons import Code, Reason


def at(seconds: float) -> datetime:
    return datetime(2026, 11, 20, 12, 0, tzinfo=UTC) + timedelta(seconds=seconds)


SPAN = Span("r", at(0), at(10), "l")
WHOLE = {
    "samples": 11,
    "first_at": at(0),
    "last_at": at(10),
    "covered_s": 10.0,
    "own_s": 4.0,
    "run_s": 3.0,
    "wait_s": 1.0,
    "throttled_s": 2.0,
    "all_s": 80.0,
    "busy_s": 24.0,
    "steal_s": 8.0,
}


def reason_of_collector(text: str) -> Reason:
    return Reason(Code.COLLECTOR_SAYS, values={"text": text})


def few_samples(samples: int) -> Reason:
    return Reason(Code.TOO_FEW_SAMPLES_WITHIN, values={"samples": samples, "span_s": 10.0})


def seen_for(seen_s: float) -> Reason:
    return Reason(Code.LOOKED_AT_IN_PART, values={"seen_s": seen_s, "span_s": 10.0})


def host(**fields: Any) -> Conditions:
    return conditions_of(SPAN, HostSums(**WHOLE | fields), [])


def gpu(index: int = 0, **fields: Any) -> GpuSums:
    actual_fields = {
        "gpu_name": "H100",
        "gpu_uuid": f"GPU-{index}",
        "covered_s": 8.0,
        "counted_j": 400.0,
        "drawn_j": 480.0,
        "throttle_bits": 0,
        "sm_clock_mhz": 1500.0,
        "sm_clock_max_mhz": 2000.0,
        "memory_clock_mhz": 2619.0,
        "power_limits_w": [700.0],
        "other_memory_bytes": 5,
        "other_utilization": 0.1,
    }
    return GpuSums(index, 11, at(0), at(10), **actual_fields | fields)


def gpus(*gpu_sums: GpuSums, span: Span = SPAN) -> Conditions:
    return conditions_of(span, None, gpu_sums)


def test_shares_and_cores_of_a_stretch() -> None:
    actual_host = host()
    assert (actual_host.run_id, actual_host.load_id, actual_host.samples) == ("r", "l", 11)
    assert actual_host.starvation_ratio == 0.25, "of 4 s that its threads wanted a CPU they waited for 1"
    assert (actual_host.throttled_ratio, actual_host.steal_ratio, actual_host.host_busy_ratio) == (0.2, 0.1, 0.3)
    assert (actual_host.own_cores, actual_host.other_cores) == (0.4, 2.0)
    assert actual_host.reasons.keys() == GPU_COLUMNS.keys()


def test_negative_use_by_others_counts_as_none() -> None:
    """Its threads are counted a moment later than the machine."""
    assert host(busy_s=3.9).other_cores == 0.0


@pytest.mark.parametrize(
    ("missing", "unknown"),
    [
        ("run_s", {"starvation_ratio"}),
        ("wait_s", {"starvation_ratio", "wait_share"}),
        ("throttled_s", {"throttled_ratio"}),
        ("steal_s", {"steal_ratio"}),
        ("all_s", {"steal_ratio", "host_busy_ratio"}),
        ("busy_s", {"host_busy_ratio", "other_cores"}),
        ("own_s", {"own_cores", "other_cores"}),
        ("covered_s", {"wait_share", "throttled_ratio", "own_cores", "other_cores"}),
    ],
)
def test_uncounted_part_makes_only_sums_unknown(missing: str, unknown: set[str]) -> None:
    actual_host = host(**{missing: None})
    assert {name for name in HOST_COLUMNS if getattr(actual_host, name) is None} == unknown
    assert {name: why for name, why in actual_host.reasons.items() if name in HOST_COLUMNS} == dict.fromkeys(
        unknown, NOT_RECORDED
    )
    column = HOST_COLUMNS[min(unknown)]
    assert host(**{missing: None}, unknown={column: "no schedstat"}).reasons[min(unknown)] == reason_of_collector(
        "no schedstat"
    )


def test_nothing_wanted_is_no_starvation() -> None:
    assert host(run_s=0.0, wait_s=0.0).starvation_ratio is None


def test_samples_with_large_gaps_are_unusable() -> None:
    assert host(samples=2).own_cores == 0.4, "two looks bound a stretch"
    few = host(samples=1)
    assert few.own_cores is None and few.reasons["own_cores"] == few_samples(1)
    assert host(last_at=None).own_cores is None and host(first_at=None).own_cores is None
    assert host(last_at=at(8)).own_cores == 0.4, "2 s at an end may be missing"
    late = host(first_at=at(1.5), last_at=at(9))
    assert late.own_cores is None and late.reasons["own_cores"] == seen_for(7.5)
    outside = host(first_at=at(20), last_at=at(30))
    assert outside.reasons["own_cores"] == seen_for(0.0)


def test_of_a_long_stretch_a_fifth_may_be_missing() -> None:
    long = Span("r", at(0), at(100))

    def until(seconds: float) -> float | None:
        return conditions_of(long, HostSums(**WHOLE | {"last_at": at(seconds)}), []).own_cores

    assert (until(80), until(79)) == (0.4, None)


def test_silent_collector_supplies_the_reason() -> None:
    conditions = conditions_of(SPAN, None, [], {"host": "the process is gone", "gpu": "no NVIDIA driver"})
    assert all(conditions.reasons[name] == reason_of_collector("the process is gone") for name in HOST_COLUMNS)
    assert all(conditions.reasons[name] == reason_of_collector("no NVIDIA driver") for name in GPU_COLUMNS)
    mute = conditions_of(SPAN, None, [])
    assert mute.reasons["own_cores"] == few_samples(0)
    assert all(mute.reasons[name] == NO_GPU for name in GPU_COLUMNS)


def test_one_gpu() -> None:
    actual_gpus = gpus(gpu())
    assert (actual_gpus.gpu_names, actual_gpus.gpu_uuids) == (("H100",), ("GPU-0",))
    assert (actual_gpus.sm_clock_mhz_median, actual_gpus.sm_clock_ratio) == (1500.0, 0.75)
    assert (actual_gpus.memory_clock_mhz_median, actual_gpus.power_limits_w) == (2619.0, (700.0,))
    assert (actual_gpus.other_gpu_memory_bytes, actual_gpus.other_gpu_utilization) == (5, 0.1)
    assert actual_gpus.energy_j == 500.0, "50 W by its counter, over the 10 s of the stretch"
    assert gpus(gpu(counted_j=None)).energy_j == 600.0, "60 W drawn"
    assert gpus(gpu(covered_s=None)).energy_j is None
    assert actual_gpus.reasons.keys() == HOST_COLUMNS.keys()
    assert (gpus(gpu(gpu_name=None, gpu_uuid=None)).gpu_names, gpus(gpu(gpu_uuid=None)).gpu_uuids) == (("",), ("",))


def test_slowest_gpu_counts_and_foreign_use_sums() -> None:
    slow = gpu(1, sm_clock_mhz=1000.0, memory_clock_mhz=1593.0, power_limits_w=[300.0, 700.0], other_utilization=0.3)
    actual_gpus = gpus(gpu(), slow)
    assert (actual_gpus.sm_clock_mhz_median, actual_gpus.sm_clock_ratio, actual_gpus.memory_clock_mhz_median) == (
        1000.0,
        0.5,
        1593.0,
    )
    assert actual_gpus.power_limits_w == (300.0, 700.0), "each once"
    assert (actual_gpus.other_gpu_memory_bytes, actual_gpus.other_gpu_utilization, actual_gpus.energy_j) == (
        10,
        0.3,
        1000.0,
    )


@pytest.mark.parametrize("name", GPU_COLUMNS)
def test_one_silent_gpu_leaves_both_unknown(name: str) -> None:
    fields = {
        "throttle_bits": "throttle_bits",
        "hardware_throttled": "throttle_bits",
        "power_capped": "throttle_bits",
        "sm_clock_mhz_median": "sm_clock_mhz",
        "sm_clock_ratio": "sm_clock_max_mhz",
        "memory_clock_mhz_median": "memory_clock_mhz",
        "power_limits_w": "power_limits_w",
        "other_gpu_memory_bytes": "other_memory_bytes",
        "other_gpu_utilization": "other_utilization",
    }
    missing = {"counted_j": None, "drawn_j": None} if name == "energy_j" else {fields[name]: None}
    mute = gpu(1, **missing, unknown={GPU_COLUMNS[name]: "this GPU does not tell it"})
    actual_gpus = gpus(gpu(), mute)
    assert getattr(actual_gpus, name) is None and actual_gpus.reasons[name] == reason_of_collector(
        "this GPU does not tell it"
    )
    assert gpus(gpu(), gpu(1, **missing)).reasons[name] == NOT_RECORDED


def test_briefly_sampled_gpu_leaves_all_unknown() -> None:
    actual_gpus = gpus(gpu(), gpu(1)._replace(last_at=at(5)))
    assert (
        actual_gpus.energy_j is None and actual_gpus.sm_clock_mhz_median is None and actual_gpus.throttle_bits is None
    )
    assert all(actual_gpus.reasons[name] == seen_for(5.0) for name in GPU_COLUMNS)


def test_larger_use_before_the_load_counts() -> None:
    assert gpus(gpu(other_utilization_before=0.2)).other_gpu_utilization == 0.2
    assert gpus(gpu(other_utilization_before=0.05)).other_gpu_utilization == 0.1
    assert gpus(gpu(other_utilization=None, other_utilization_before=0.2)).other_gpu_utilization is None


def test_bits_of_all_gpus_are_told_together() -> None:
    actual_gpus = gpus(gpu(throttle_bits=1), gpu(1, throttle_bits=SW_POWER_CAP))
    assert (actual_gpus.throttle_bits, actual_gpus.hardware_throttled, actual_gpus.power_capped) == (
        1 | SW_POWER_CAP,
        False,
        True,
    )
