"""What a run's machine did to it while it was measured: starved, throttled or shared with others. Pure values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from statistics import fmean
from typing import Any, Literal, NamedTuple

from reasons import Reason

# NVML's clocks event reasons, the bits of `throttle_bits`.
SW_POWER_CAP = 0x04
HW_SLOWDOWN = 0x08
SW_THERMAL = 0x20
HW_THERMAL = 0x40
HW_POWER_BRAKE = 0x80
HARDWARE = HW_SLOWDOWN | SW_THERMAL | HW_THERMAL | HW_POWER_BRAKE
# Measured with benchmarks/starvation.py, see docs/answers/starvation.md.
# From which difference of two runs on they are unlike, and from which value on a run is held back.
OTHERS_CORES = 0.5  # mean cores in use by everybody else; our client and collectors take less
UNLIKE: Mapping[str, float] = {"starvation_ratio": 0.15, "throttled_ratio": 0.02, "steal_ratio": 0.02}
HIGH: Mapping[str, float] = {"starvation_ratio": 0.25, "throttled_ratio": 0.02, "steal_ratio": 0.02}
UNLIKE_RAN = (
    1.25  # times: of the time that its threads wanted a CPU, the share they had one; near 1 waits differ little
)
EXPLAINED = 0.5  # of a difference, on the log scale: from which share on it may be the waits'
CLOCKS = ("sm_clock_mhz_median", "memory_clock_mhz_median")
UNLIKE_CLOCK = 0.03  # of two runs' median clocks, as a share of the higher one
FOREIGN_MEMORY_BYTES = 1 << 30  # CUDA's context alone takes half of it
FOREIGN_UTILIZATION = 0.005  # 2 % of a GPU's time cost a server 4 % of its speed


class Span(NamedTuple):
    """A stretch of a run in which it was measured, such as its load without the warm-up."""

    run_id: str
    began_at: datetime
    ended_at: datetime
    load_id: str | None = None

    @property
    def seconds(self) -> float:
        return (self.ended_at - self.began_at).total_seconds()


@dataclass(frozen=True, slots=True)
class Conditions:
    """One stretch of one run; what is not known is None and has its reason in `reasons` under the field's name."""

    run_id: str
    load_id: str | None = None
    starvation_ratio: float | None = None  # of the time its threads wanted a CPU, the share they waited for one
    throttled_ratio: float | None = None  # seconds held back by CPU limits / seconds; above 1 where several CPUs were
    steal_ratio: float | None = None  # of all cores' time, the share that the hypervisor gave to other machines
    host_busy_ratio: float | None = None  # mean share of all cores in use by anybody
    own_cores: float | None = None  # mean cores in use by the server
    other_cores: float | None = None  # mean cores in use by everybody else
    throttle_bits: int | None = None  # NVML clocks event reasons of all its GPUs at any moment, or-ed
    hardware_throttled: bool | None = None  # slowdown, thermal or power brake, at any moment
    power_capped: bool | None = None  # held at the power limit by software, and nothing worse
    sm_clock_mhz_median: float | None = None  # while a kernel ran; of its slowest GPU
    sm_clock_ratio: float | None = None  # of the highest clock; of its slowest GPU
    memory_clock_mhz_median: float | None = None  # likewise; None also where the GPU does not report it
    power_limits_w: tuple[float, ...] | None = None  # in force on its GPUs, each once
    other_gpu_memory_bytes: int | None = None  # most that other processes held on its GPUs, summed over them
    other_gpu_utilization: float | None = None  # mean share of time others' kernels ran, then or just before
    gpu_names: tuple[str, ...] = ()
    gpu_uuids: tuple[str, ...] = ()
    energy_j: float | None = None  # of all its GPUs over the stretch
    samples: int = 0  # looks at the host
    reasons: Mapping[str, Reason] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Standing:
    """How the runs of two arms stand in one respect.

    same: low or alike in all; warns: alike, and to be shown beside the result; matters: two of the runs are unlike, so
    the arms are not to be ranked; unknown: it was not measured in each. `fields` decided, `values` are those of runs.
    """

    word: Literal["same", "warns", "matters", "unknown"]
    fields: tuple[str, ...] = ()
    values: Mapping[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = field(default_factory=dict)  # of a's, of b's runs
    reasons: tuple[Reason, ...] = ()  # why it is unknown


def starvation(a: Sequence[Conditions], b: Sequence[Conditions]) -> Standing:
    """Whether the servers were kept from the CPU: by other work, by a CPU limit, by other machines on the same host.

    It matters when two of the runs are unlike, and is noted when all are held back alike. Waits are others' doing only
    where others used the CPU: threads of one server that has more of them than cores wait for each other.
    """
    unlike = {name: None for name, most in UNLIKE.items() if _spread(a, b, name) > most}
    if not _others_worked(a, b):
        unlike.pop("starvation_ratio", None)
    elif _ran_unlike(a, b):
        unlike = {"starvation_ratio": None} | unlike
    if unlike:
        return _standing("matters", tuple(unlike), a, b)
    if unknown := _unknown(("starvation_ratio",), a, b):
        return unknown
    high = tuple(name for name, most in HIGH.items() if max(_known(a, b, name), default=0.0) > most)
    return _standing("warns" if high else "same", high or tuple(HIGH), a, b)


def waits_may_explain(slower: Sequence[Conditions], faster: Sequence[Conditions], times: float) -> bool:
    """Whether the slower arm had a CPU so much less than the faster that half of `times`, or more, may be that."""
    ran = [[1.0 - one.starvation_ratio for one in arm if one.starvation_ratio is not None] for arm in (slower, faster)]
    if not all(ran) or not _others_worked(slower, faster):
        return False
    return fmean(ran[1]) >= fmean(ran[0]) * math.pow(times, EXPLAINED)


def clocks(a: Sequence[Conditions], b: Sequence[Conditions]) -> Standing:
    """Whether the GPUs ran as fast as they can, and alike; on machines without a GPU it is unknown.

    A slowdown by the hardware or by heat matters in any run, as do unlike clocks; the power limit alone is noted.
    """
    if any(_known(a, b, "hardware_throttled")):
        return _standing("matters", ("hardware_throttled", "throttle_bits"), a, b)
    unlike = [name for name in CLOCKS if _is_unlike(name, a, b)]
    if unlike and not (unlike == [CLOCKS[0]] and _draws_more(a, b)):
        return _standing("matters", tuple(unlike), a, b)
    if unknown := _unknown(("hardware_throttled", CLOCKS[0]), a, b):
        return unknown
    if any(_known(a, b, "power_capped")):
        return _standing("warns", ("power_capped", *CLOCKS), a, b)
    return _standing("same", CLOCKS, a, b)


def _draws_more(a: Sequence[Conditions], b: Sequence[Conditions]) -> bool:
    """Whether one arm's cores are slower by its own doing: on the same GPUs each of its runs met the limit of all."""
    gpus = {(one.gpu_uuids, one.power_limits_w or ()) for one in chain(a, b)}
    if len(gpus) != 1 or not all(next(iter(gpus))) or any(_is_unlike(CLOCKS[0], arm, ()) for arm in (a, b)):
        return False
    slower = min((a, b), key=lambda arm: min(_known(arm, (), CLOCKS[0]), default=math.inf))
    return all(one.power_capped for one in slower)


def _is_unlike(clock: str, a: Sequence[Conditions], b: Sequence[Conditions]) -> bool:
    return _spread(a, b, clock) > UNLIKE_CLOCK * max(_known(a, b, clock), default=0.0)


def foreign_gpu_load(a: Sequence[Conditions], b: Sequence[Conditions]) -> Standing:
    """Whether other processes used the runs' GPUs: time that they took matters, memory that they held is noted."""
    time, memory = "other_gpu_utilization", "other_gpu_memory_bytes"
    if max(_known(a, b, time), default=0.0) > FOREIGN_UTILIZATION:
        return _standing("matters", (time,), a, b)
    if max(_known(a, b, memory), default=0) > FOREIGN_MEMORY_BYTES:
        return _standing("warns", (memory,), a, b)
    return _unknown((time, memory), a, b) or _standing("same", (time, memory), a, b)


def _standing(
    word: Literal["same", "warns", "matters"], names: tuple[str, ...], a: Sequence[Conditions], b: Sequence[Conditions]
) -> Standing:
    return Standing(word, names, _values(names, a, b))


def _unknown(names: tuple[str, ...], a: Sequence[Conditions], b: Sequence[Conditions]) -> Standing | None:
    """That one of these fields is not known of a run, or of an arm without runs."""
    missing = tuple(name for name in names if any(getattr(one, name) is None for one in chain(a, b)))
    if a and b and not missing:
        return None
    reasons = [one.reasons[name] for name in missing for one in chain(a, b) if name in one.reasons]
    each_once = tuple(why for place, why in enumerate(reasons) if why not in reasons[:place])
    return Standing("unknown", missing, _values(missing, a, b), each_once)


def _values(
    names: tuple[str, ...], a: Sequence[Conditions], b: Sequence[Conditions]
) -> dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]]:
    return {name: (tuple(getattr(one, name) for one in a), tuple(getattr(one, name) for one in b)) for name in names}


def _known(a: Sequence[Conditions], b: Sequence[Conditions], name: str) -> list[Any]:
    return [value for one in chain(a, b) if (value := getattr(one, name)) is not None]


def _others_worked(a: Sequence[Conditions], b: Sequence[Conditions]) -> bool:
    """Whether anybody but the server took more than our client and collectors do; where it is not known, perhaps."""
    cores = [one.other_cores for one in chain(a, b)]
    return any(one is None or one > OTHERS_CORES for one in cores)


def _ran_unlike(a: Sequence[Conditions], b: Sequence[Conditions]) -> bool:
    """A server that waits 94 % of the time has two thirds of the CPU of one that waits 91 %."""
    ran = [1.0 - ratio for ratio in _known(a, b, "starvation_ratio")]
    return bool(ran) and max(ran) > UNLIKE_RAN * min(ran)


def _spread(a: Sequence[Conditions], b: Sequence[Conditions], name: str) -> float:
    """How far two runs are apart in it at most; 0 where fewer than two have it."""
    known = _known(a, b, name)
    return max(known) - min(known) if known else 0.0
