"""Pairs of runs that may be ranked, as far as their machine's state decides."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from analysis.runs.condition_sums import GpuSums, conditions_of
from analysis.runs.conditions import (
    FOREIGN_MEMORY_BYTES,
    FOREIGN_UTILIZATION,
    HIGH,
    HW_POWER_BRAKE,
    HW_SLOWDOWN,
    HW_THERMAL,
    MAX_OTHER_CORES,
    SW_POWER_CAP,
    SW_THERMAL,
    UNLIKE,
    Conditions,
    Span,
    clocks,
    foreign_gpu_load,
    starvation,
)
from reasons import Code, Reason


def at(seconds: float) -> datetime:
    return datetime(2026, 11, 20, 12, 0, tzinfo=UTC) + timedelta(seconds=seconds)


def reason_of_collector(text: str) -> Reason:
    return Reason(Code.COLLECTOR_SAYS, values={"text": text})


def run(**fields: Any) -> Conditions:
    usual = {
        "starvation_ratio": 0.02,
        "throttled_ratio": 0.0,
        "steal_ratio": 0.0,
        "hardware_throttled": False,
        "power_capped": False,
        "sm_clock_mhz_median": 1900.0,
        "other_gpu_memory_bytes": 0,
        "other_gpu_utilization": 0.0,
    }
    return Conditions("r", **usual | fields)


LOW, HELD_BACK = 0.01, 0.4


@pytest.mark.parametrize("name", ["starvation_ratio", "throttled_ratio", "steal_ratio"])
def test_unlike_refuses_and_high_in_both_is_noted(name: str) -> None:
    low, high = run(**{name: LOW}), run(**{name: HELD_BACK})
    assert starvation([low, low], [low]).level == "same"
    unlike = starvation([low, low], [low, high])
    assert (unlike.level, unlike.fields, unlike.values) == ("matters", (name,), {name: ((LOW, LOW), (LOW, HELD_BACK))})
    assert starvation([low], [high]).level == starvation([high, low], [high]).level == "matters"
    both = starvation([high], [high])
    assert (both.level, both.fields) == ("warns", (name,))


@pytest.mark.parametrize("name", UNLIKE)
def test_thresholds_for_unlike_and_high(name: str) -> None:
    base, most = run(**{name: 0.01}), 0.01 + UNLIKE[name]
    assert starvation([base], [run(**{name: most + 0.001})]).level == "matters"
    assert starvation([base], [run(**{name: min(most, HIGH[name]) - 0.001})]).level == "same"
    assert starvation([run(**{name: HIGH[name]})], [run(**{name: HIGH[name] + 0.001})]).level == "warns"


def test_waiting_servers_differ_by_their_share() -> None:
    """91 and 94 % were measured of one configuration, the second with 0.59 times the speed of the first."""
    often, oftener = run(starvation_ratio=0.91), run(starvation_ratio=0.94)
    actual_starvation = starvation([often], [oftener])
    assert (actual_starvation.level, actual_starvation.fields) == ("matters", ("starvation_ratio",))
    assert starvation([often], [run(starvation_ratio=0.92)]).level == "warns"
    assert starvation([run(starvation_ratio=1.0)], [often]).level == "matters"


def test_unknown_starvation_has_its_reason() -> None:
    mute = run(starvation_ratio=None, reasons={"starvation_ratio": reason_of_collector("no schedstat")})
    actual_starvation = starvation([run()], [run(), mute])
    assert (actual_starvation.level, actual_starvation.fields, actual_starvation.reasons) == (
        "unknown",
        ("starvation_ratio",),
        (reason_of_collector("no schedstat"),),
    )
    assert starvation([run()], []).level == "unknown"
    assert starvation([run(throttled_ratio=None)], [run()]).level == "same", "no limit is no throttling"
    stolen = run(starvation_ratio=None, steal_ratio=HELD_BACK)
    assert starvation([run()], [stolen]).level == "matters", "what is known of it is enough"


def test_hardware_slowdown_in_any_run_refuses() -> None:
    slowed = run(hardware_throttled=True, throttle_bits=HW_SLOWDOWN)
    for a, b in (([run()], [run(), slowed]), ([slowed], [slowed])):
        assert clocks(a, b).level == "matters"


def test_unlike_clocks_refuse_power_limit_noted() -> None:
    assert clocks([run()], [run(sm_clock_mhz_median=1900 * 0.975)]).level == "same"
    unlike = clocks([run()], [run(sm_clock_mhz_median=1900 * 0.96)])
    assert (unlike.level, unlike.values["sm_clock_mhz_median"]) == ("matters", ((1900.0,), (1824.0,)))
    assert clocks([run()], [run(power_capped=True)]).level == "warns"
    assert clocks([run(power_capped=True)], [run(power_capped=True, sm_clock_mhz_median=1700.0)]).level == "matters"


@pytest.mark.parametrize("name", UNLIKE)
def test_exactly_on_a_threshold_is_alike(name: str) -> None:
    assert starvation([run(**{name: 0.0})], [run(**{name: min(UNLIKE[name], HIGH[name])})]).level == "same"


def test_exact_threshold_counts_as_below() -> None:
    assert foreign_gpu_load([run()], [run(other_gpu_utilization=FOREIGN_UTILIZATION)]).level == "same"
    assert foreign_gpu_load([run()], [run(other_gpu_memory_bytes=FOREIGN_MEMORY_BYTES)]).level == "same"
    waits = [run(starvation_ratio=ratio, other_cores=MAX_OTHER_CORES) for ratio in (0.2, 0.6)]
    assert starvation(waits[:1], waits[1:]).level == "warns", "half a core of others is our own client and collectors"


def test_unknown_in_baseline_alone_stays_unknown() -> None:
    mute = run(starvation_ratio=None, reasons={"starvation_ratio": reason_of_collector("no schedstat")})
    actual_starvation = starvation([mute], [run()])
    assert (actual_starvation.level, actual_starvation.reasons) == ("unknown", (reason_of_collector("no schedstat"),))


def test_others_may_have_worked_beside_either_arm() -> None:
    alone, beside = run(starvation_ratio=0.1, other_cores=0.1), run(starvation_ratio=0.6, other_cores=3.0)
    assert starvation([alone], [beside]).level == starvation([beside], [alone]).level == "matters"


def test_unlike_memory_clocks_refuse_too() -> None:
    """Decoding reads the weights: it goes by the memory's clock more than by that of the cores."""
    fast = run(memory_clock_mhz_median=2619.0)
    assert clocks([fast], [run(memory_clock_mhz_median=2619.0 * 0.975)]).level == "same"
    slow = clocks([fast], [run(memory_clock_mhz_median=1593.0)])
    assert (slow.level, slow.values) == ("matters", {"memory_clock_mhz_median": ((2619.0,), (1593.0,))})
    assert clocks([run()], [run()]).level == "same", "one that the GPU does not tell is not missed"


def test_clocks_that_are_not_told_are_unknown() -> None:
    why = dict.fromkeys(("hardware_throttled", "sm_clock_mhz_median"), reason_of_collector("no NVIDIA driver"))
    mute = run(hardware_throttled=None, sm_clock_mhz_median=None, reasons=why)
    assert clocks([mute], [mute]).reasons == (reason_of_collector("no NVIDIA driver"),)
    assert clocks([run()], [mute]).level == "unknown"


def test_foreign_gpu_time_refuses_memory_is_noted() -> None:
    assert foreign_gpu_load([run()], [run()]).level == "same"
    assert foreign_gpu_load([run()], [run(other_gpu_utilization=0.2)]).level == "matters"
    assert foreign_gpu_load([run(other_gpu_utilization=0.2)], [run(other_gpu_utilization=0.2)]).level == "matters"
    assert foreign_gpu_load([run()], [run(other_gpu_memory_bytes=FOREIGN_MEMORY_BYTES + 1)]).level == "warns"
    unseen = run(other_gpu_utilization=None, other_gpu_memory_bytes=None)
    assert foreign_gpu_load([run()], [unseen]).level == "unknown"


@pytest.mark.parametrize(
    ("bits", "by_hardware", "capped"),
    [
        (0, False, False),
        (1, False, False),
        (SW_POWER_CAP, False, True),
        *((bit, True, False) for bit in (HW_SLOWDOWN, SW_THERMAL, HW_THERMAL, HW_POWER_BRAKE)),
        (SW_POWER_CAP | SW_THERMAL, True, False),
    ],
)
def test_the_bits_of_the_driver(bits: int, by_hardware: bool, capped: bool) -> None:
    gpu = GpuSums(0, 11, at(0), at(10), throttle_bits=bits)
    conditions = conditions_of(Span("r", at(0), at(10)), None, [gpu])
    assert (conditions.hardware_throttled, conditions.power_capped) == (by_hardware, capped)


def test_one_slowed_gpu_is_enough() -> None:
    def of(*bits: int | None) -> bool | None:
        gpus = [GpuSums(n, 11, at(0), at(10), throttle_bits=told) for n, told in enumerate(bits)]
        return conditions_of(Span("r", at(0), at(10)), None, gpus).hardware_throttled

    assert (of(HW_SLOWDOWN, None), of(0, None), of(0, 0)) == (True, None, False)


@pytest.mark.parametrize(("value", "word"), [(0.3, "warns"), (0.6, "matters"), (None, "matters")])
def test_waits_blame_others_only_on_their_cpu_use(value: float | None, word: str) -> None:
    """A server with more threads than cores waits for itself, more or less of it by its configuration."""
    waiting = [Conditions("r", starvation_ratio=ratio, other_cores=value) for ratio in (0.3, 0.6)]
    assert starvation(waiting[:1], waiting[1:]).level == word
