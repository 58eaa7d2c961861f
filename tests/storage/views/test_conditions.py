"""Counters written by hand, as collectors give them, and what is told of stretches of a run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from analysis.runs.conditions import Conditions, Span
from domain import Config, Run
from samples import Batch, CollectorHealth, GpuSample, HostSample
from settings import Settings
from storage.queries.condition_queries import conditions
from storage.store import Store
from web.words import reason_text as why_words

T0 = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def words(conditions: Conditions, name: str) -> str | None:
    return why_words(conditions.reasons.get(name))


def host(second: float, **fields: Any) -> HostSample:
    """A second in which the server runs 0.6 s and waits 0.2 s on a machine of two cores that others use by half one."""
    counted = {
        "cpu_seconds_total": 5 + 0.6 * second,
        "scheduled_seconds_total": 5 + 0.6 * second,
        "runnable_wait_seconds_total": 1 + 0.2 * second,
        "throttled_seconds_total": 0.1 * second,
        "host_cpu_seconds_total": 1000 + 2.0 * second,
        "host_busy_seconds_total": 500 + 1.1 * second,
        "host_steal_seconds_total": 0.02 * second,
    }
    return HostSample("r", at(second), 100 + second, "m", **counted | fields)


def gpu(second: float, index: int = 0, **fields: Any) -> GpuSample:
    actual_fields = {
        "gpu_name": "H200",
        "gpu_uuid": f"GPU-{index}",
        "energy_j_total": 9000 + 500 * second,
        "power_w": 400.0,
        "sm_clock_mhz": 1900.0,
        "sm_clock_max_mhz": 2000.0,
        "utilization_ratio": 0.9,
        "throttle_reasons": 4,
        "other_memory_bytes": 0,
        "other_utilization_ratio": 0.0,
    }
    return GpuSample("r", at(second), 100 + second, "m", index, **actual_fields | fields)


def conditions_of(store: Store, samples: list[Any], began: float = 10, ended: float = 20) -> Conditions:
    store.write(Batch(tuple(samples))).result()
    (condition,) = conditions(store, [Span("r", at(began), at(ended))])
    return condition


def test_increments_only_within_the_stretch(store: Store) -> None:
    def busy_outside(second: int) -> HostSample:
        return host(second) if 10 <= second <= 20 else host(second, runnable_wait_seconds_total=None)

    conditions = conditions_of(store, [busy_outside(second) for second in range(30)])
    assert conditions.starvation_ratio == pytest.approx(0.25)
    assert conditions.throttled_ratio == pytest.approx(0.1)
    assert conditions.steal_ratio == pytest.approx(0.01)
    assert conditions.host_busy_ratio == pytest.approx(0.55)
    assert (conditions.own_cores, conditions.other_cores) == (pytest.approx(0.6), pytest.approx(0.5))
    assert conditions.samples == 11
    assert conditions.reasons.keys() & {"starvation_ratio", "own_cores"} == set()


def test_what_was_before_and_after_does_not_count(store: Store) -> None:
    """All the waiting is outside of the stretch, whose ends lie between two samples."""
    waited = {second: 50.0 if second < 10 else 60.0 if second < 20 else 99.0 for second in range(30)}
    samples = [host(second, runnable_wait_seconds_total=waited[second]) for second in range(30)]
    assert conditions_of(store, samples, 10.4, 18.6).starvation_ratio == 0.0


def test_nearest_outside_sample_within_2_s_counts(store: Store) -> None:
    actual_conditions = conditions_of(store, [host(9), host(15), host(21)], 10, 20)
    assert (actual_conditions.samples, actual_conditions.own_cores) == (3, pytest.approx(0.6))
    (short,) = conditions(store, [Span("r", at(15.2), at(15.4))])
    assert short.own_cores is None and words(short, "own_cores") == "1 sample during its 0.2 s"


def test_briefly_sampled_stretch_is_unknown(store: Store) -> None:
    conditions = conditions_of(store, [host(second) for second in (10, 11, 12, 13, 14)])
    assert (conditions.starvation_ratio, conditions.own_cores) == (None, None)
    assert words(conditions, "own_cores") == "samples cover 4.0 of its 10.0 s"


def test_stretches_keep_the_given_order(store: Store) -> None:
    store.write(
        Batch(tuple(host(second, cpu_seconds_total=max(0, second - 20) * 1.0) for second in range(40)))
    ).result()
    late, early, other = conditions(
        store, [Span("r", at(25), at(35)), Span("r", at(5), at(15)), Span("nobody", at(5), at(15))]
    )
    assert (late.own_cores, early.own_cores, other.own_cores) == (pytest.approx(1.0), 0.0, None)
    assert other.run_id == "nobody" and words(other, "own_cores") == "no samples during its 10.0 s"
    assert conditions(store, []) == []


def test_counter_fall_at_restart_drops_increment(store: Store) -> None:
    """What ended threads had used is forgotten by a new collector."""
    forgot = {"cpu_seconds_total": 5.0, "scheduled_seconds_total": 5.0}
    samples = [
        host(s, **{name: value + 0.6 * (s - 15) for name, value in forgot.items()}) if s >= 15 else host(s)
        for s in range(30)
    ]
    conditions = conditions_of(store, samples)
    assert conditions.own_cores == pytest.approx(0.6)
    assert conditions.starvation_ratio == pytest.approx(0.25)


def test_silent_kernel_is_unknown_and_rest_known(store: Store) -> None:
    nothing = {"scheduled_seconds_total": None, "runnable_wait_seconds_total": None, "throttled_seconds_total": None}
    why = {"runnable_wait_seconds_total": "no schedstat"}
    conditions = conditions_of(store, [host(second, **nothing, unknown=why) for second in range(30)])
    assert (conditions.starvation_ratio, conditions.own_cores) == (None, pytest.approx(0.6))
    assert words(conditions, "starvation_ratio") == "no schedstat"
    assert words(conditions, "throttled_ratio") == "it was not recorded at the time", (
        "by a Pitwall that did not measure it"
    )


def test_energy_clocks_and_bits_of_two_gpus(store: Store) -> None:
    slow = {"sm_clock_mhz": 1500.0, "energy_j_total": None, "other_memory_bytes": 7, "other_utilization_ratio": 0.2}
    samples = [sample for s in range(30) for sample in (gpu(s), gpu(s, 1, **slow))]
    conditions = conditions_of(store, samples)
    assert conditions.energy_j == pytest.approx(10 * 500 + 10 * 400), "one by its counter, one by its power"
    assert (conditions.sm_clock_mhz_median, conditions.sm_clock_ratio) == (1500.0, 0.75)
    assert (conditions.throttle_bits, conditions.hardware_throttled, conditions.power_capped) == (4, False, True)
    assert (conditions.other_gpu_memory_bytes, conditions.other_gpu_utilization) == (7, pytest.approx(0.2))
    assert (conditions.gpu_names, conditions.gpu_uuids) == (("H200", "H200"), ("GPU-0", "GPU-1"))


def test_memory_clocks_and_limits_of_two_gpus(store: Store) -> None:
    """The limit was lowered on one of them in the middle of the load."""
    idle = {"utilization_ratio": 0.0, "memory_clock_mhz": 405.0}
    busy = {"memory_clock_mhz": 2619.0}
    first = [gpu(s, power_limit_w=700.0 if s < 15 else 300.0, **idle if s % 3 else busy) for s in range(30)]
    second = [gpu(s, 1, power_limit_w=700.0, memory_clock_mhz=1593.0) for s in range(30)]
    actual_conditions = conditions_of(store, [*first, *second])
    assert (actual_conditions.memory_clock_mhz_median, actual_conditions.power_limits_w) == (1593.0, (300.0, 700.0))
    (before,) = conditions(store, [Span("r", at(2), at(12))])
    assert before.power_limits_w == (700.0,)


def test_gpu_without_power_limit_is_unknown(store: Store) -> None:
    why = {"power_limit_w": "this GPU does not report it"}
    conditions = conditions_of(store, [gpu(s, unknown=why) for s in range(30)])
    assert (conditions.power_limits_w, conditions.memory_clock_mhz_median) == (None, None)
    assert words(conditions, "power_limits_w") == "this GPU does not report it"
    assert words(conditions, "memory_clock_mhz_median") == "it was not recorded at the time"


def test_slowdown_is_seen_only_inside_the_stretch(store: Store) -> None:
    actual_conditions = conditions_of(store, [gpu(s, throttle_reasons=8 if s == 14 else 4) for s in range(30)])
    assert (actual_conditions.throttle_bits, actual_conditions.hardware_throttled, actual_conditions.power_capped) == (
        12,
        True,
        False,
    )
    (after,) = conditions(store, [Span("r", at(16), at(25))])
    assert (after.throttle_bits, after.hardware_throttled) == (4, False)


def test_the_clock_of_an_idle_gpu_does_not_count(store: Store) -> None:
    idle = {"utilization_ratio": 0.0, "sm_clock_mhz": 300.0}
    assert conditions_of(store, [gpu(s, **idle if s % 3 else {}) for s in range(30)]).sm_clock_mhz_median == 1900.0


def test_silent_gpu_hides_only_requested_values(store: Store) -> None:
    mute = {"energy_j_total": None, "power_w": None, "unknown": {"energy_j_total": "this GPU does not report it"}}
    conditions = conditions_of(store, [sample for s in range(30) for sample in (gpu(s), gpu(s, 1, **mute))])
    assert conditions.energy_j is None and words(conditions, "energy_j") == "this GPU does not report it"
    assert conditions.sm_clock_mhz_median == 1900.0 and "sm_clock_mhz_median" not in conditions.reasons


def test_a_machine_without_a_gpu_says_why(store: Store) -> None:
    store.write(Batch((CollectorHealth("r", at(1), "gpu", False, 1.0, "no NVIDIA driver on this machine"),))).result()
    conditions = conditions_of(store, [host(second) for second in range(30)])
    assert conditions.energy_j is None and words(conditions, "energy_j") == "no NVIDIA driver on this machine"
    assert conditions.gpu_names == ()


def test_sealed_rows_are_asked_too(settings: Settings) -> None:
    store = Store.open(settings, clock=lambda: T0 + timedelta(hours=1))
    store.save_run(Run(id="r", name="r", color=0, config=Config(), machine_id="m", created_at=T0, ended_at=at(40)))
    before = conditions_of(store, [host(second) for second in range(30)])
    assert store.seal() > 0
    (after,) = conditions(store, [Span("r", at(10), at(20))])
    store.close()
    assert after == before and after.starvation_ratio == pytest.approx(0.25)
