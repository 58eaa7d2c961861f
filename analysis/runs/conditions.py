"""Conditions of a run's machine while it was measured: CPU starvation, throttling, sharing. Pure values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from statistics import fmean
from typing import Any, Literal, NamedTuple

from analysis.verdict.margin import MARGIN
from reasons import Reason

# NVML's clocks event reasons, the bits of `throttle_bits`.
SW_POWER_CAP = 0x04
HW_SLOWDOWN = 0x08
SW_THERMAL = 0x20
HW_THERMAL = 0x40
HW_POWER_BRAKE = 0x80
HARDWARE = HW_SLOWDOWN | SW_THERMAL | HW_THERMAL | HW_POWER_BRAKE
# Measured with benchmarks/starvation.py, see docs/answers/starvation.md.
# UNLIKE: the difference above which two runs are unlike; HIGH: the value above which a run is held back.
MAX_OTHER_CORES = 0.5  # mean cores in use by other processes; Pitwall's client and collectors use less
UNLIKE: Mapping[str, float] = {"starvation_ratio": 0.15, "throttled_ratio": 0.02, "steal_ratio": 0.02}
HIGH: Mapping[str, float] = {"starvation_ratio": 0.25, "throttled_ratio": 0.02, "steal_ratio": 0.02}
UNLIKE_RAN = (
    1.25  # times: of the time that its threads wanted a CPU, the share they had one; near 1 waits differ little
)
CLOCKS = ("sm_clock_mhz_median", "memory_clock_mhz_median")
UNLIKE_CLOCK = 0.03  # of two runs' median clocks, as a share of the higher one
FOREIGN_MEMORY_BYTES = 1 << 30  # CUDA's context alone takes half of it
FOREIGN_UTILIZATION = 0.005  # 2 % of a GPU's time cost a server 4 % of its speed


class Span(NamedTuple):
    """A measured interval of a run, such as its load without the warm-up."""

    run_id: str
    began_at: datetime
    ended_at: datetime
    load_id: str | None = None

    @property
    def seconds(self) -> float:
        return (self.ended_at - self.began_at).total_seconds()


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions in one interval of a run; unknown values are None, with `reasons` by field name."""

    run_id: str
    load_id: str | None = None
    starvation_ratio: float | None = None  # waiting time over runnable time of its threads
    wait_share: float | None = None  # waiting time of its threads over the seconds; above 1 if several waited
    throttled_ratio: float | None = None  # seconds throttled by CPU limits / seconds; above 1 if several CPUs were
    steal_ratio: float | None = None  # share of all cores' time that the hypervisor gave to other machines
    host_busy_ratio: float | None = None  # mean share of all cores in use by any process
    own_cores: float | None = None  # mean cores in use by the server
    other_cores: float | None = None  # mean cores in use by other processes
    throttle_bits: int | None = None  # NVML clocks event reasons of all its GPUs at any moment, or-ed
    hardware_throttled: bool | None = None  # slowdown, thermal or power brake, at any moment
    power_capped: bool | None = None  # held at the power limit by software, and nothing worse
    sm_clock_mhz_median: float | None = None  # while a kernel ran; of its slowest GPU
    sm_clock_ratio: float | None = None  # of the highest clock; of its slowest GPU
    memory_clock_mhz_median: float | None = None  # likewise; None also if the GPU does not report it
    power_limits_w: tuple[float, ...] | None = None  # of its GPUs, distinct values
    other_gpu_memory_bytes: int | None = None  # maximum of other processes, summed over its GPUs
    other_gpu_utilization: float | None = None  # mean time share of other processes' kernels, then or just before
    gpu_names: tuple[str, ...] = ()
    gpu_uuids: tuple[str, ...] = ()
    energy_j: float | None = None  # of all its GPUs over the interval
    samples: int = 0  # of the host
    reasons: Mapping[str, Reason] = field(default_factory=dict)

    @property
    def lost_share(self) -> float | None:
        """Share of the time that waits for a CPU may have cost: a second of waiting delays nothing by more than one.

        Many threads may wait at the same time: then the waits count as a share of the CPU time that they wanted.
        """
        shares = [share for share in (self.starvation_ratio, self.wait_share) if share is not None]
        return None if self.starvation_ratio is None else min(shares)


@dataclass(frozen=True, slots=True)
class ConditionStatus:
    """Comparison of the runs of two arms in one condition.

    same: low or alike in all; warns: alike, but shown with the result; matters: two of the runs are unlike, so the arms
    must not be ranked; unknown: not measured in each run. `fields` decided it, `values` are those of the runs.
    """

    level: Literal["same", "warns", "matters", "unknown"]
    fields: tuple[str, ...] = ()
    values: Mapping[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = field(
        default_factory=dict
    )  # of a's and of b's runs
    reasons: tuple[Reason, ...] = ()  # why it is unknown


def starvation(a: Sequence[Conditions], b: Sequence[Conditions], margin: float = MARGIN) -> ConditionStatus:
    """Compare CPU starvation of the servers: by other work, a CPU limit, or other virtual machines on the host.

    It matters if two of the runs are unlike, and is noted if all are held back alike. Waits count only if other
    processes used the CPU (a server with more threads than cores waits for itself), and only if they may have cost more
    than the margin: a GPU's server needs little CPU, and a large share of little is nothing.
    """
    unlike = {name: None for name, most in UNLIKE.items() if _spread(a, b, name) > most}
    if not _others_worked(a, b) or _spread(a, b, "lost_share") <= margin:
        unlike.pop("starvation_ratio", None)
    elif _ran_unlike(a, b):
        unlike = {"starvation_ratio": None} | unlike
    if unlike:
        return _status("matters", tuple(unlike), a, b)
    if unknown := _unknown_status(("starvation_ratio",), a, b):
        return unknown
    high = tuple(
        name
        for name, most in HIGH.items()
        if max(_known(a, b, name), default=0.0) > most
        and (name != "starvation_ratio" or max(_known(a, b, "lost_share"), default=0.0) > margin)
    )
    return _status("warns" if high else "same", high or tuple(HIGH), a, b)


def wait_effect(a: Sequence[Conditions], b: Sequence[Conditions]) -> float | None:
    """Return the log ratio of speeds, b over a, that CPU waits alone may have made; None if they are not known.

    None also if no other process used the CPU. A server that waited all the time has an infinite effect.
    """
    shares = [[1.0 - row.lost_share for row in arm if row.lost_share is not None] for arm in (a, b)]
    if not all(shares) or not _others_worked(a, b):
        return None
    first, second = map(fmean, shares)
    if not (first > 0 and second > 0):
        return math.inf if second > first else -math.inf if first > second else 0.0
    return math.log(second / first)


def clocks(a: Sequence[Conditions], b: Sequence[Conditions]) -> ConditionStatus:
    """Compare GPU clocks and throttling; unknown on machines without a GPU.

    A slowdown by the hardware or by heat matters in any run, as do unlike clocks; the power limit alone is noted.
    """
    if any(_known(a, b, "hardware_throttled")):
        return _status("matters", ("hardware_throttled", "throttle_bits"), a, b)
    unlike = [name for name in CLOCKS if _is_unlike(name, a, b)]
    if unlike and not (unlike == [CLOCKS[0]] and _draws_more(a, b)):
        return _status("matters", tuple(unlike), a, b)
    if unknown := _unknown_status(("hardware_throttled", CLOCKS[0]), a, b):
        return unknown
    if any(_known(a, b, "power_capped")):
        return _status("warns", ("power_capped", *CLOCKS), a, b)
    return _status("same", CLOCKS, a, b)


def _draws_more(a: Sequence[Conditions], b: Sequence[Conditions]) -> bool:
    """Whether the slower clock is the arm's own effect: on the same GPUs each of its runs reached the power limit."""
    gpus = {(condition.gpu_uuids, condition.power_limits_w or ()) for condition in chain(a, b)}
    if len(gpus) != 1 or not all(next(iter(gpus))) or any(_is_unlike(CLOCKS[0], arm, ()) for arm in (a, b)):
        return False
    slower = min((a, b), key=lambda arm: min(_known(arm, (), CLOCKS[0]), default=math.inf))
    return all(condition.power_capped for condition in slower)


def _is_unlike(clock: str, a: Sequence[Conditions], b: Sequence[Conditions]) -> bool:
    return _spread(a, b, clock) > UNLIKE_CLOCK * max(_known(a, b, clock), default=0.0)


def foreign_gpu_load(a: Sequence[Conditions], b: Sequence[Conditions]) -> ConditionStatus:
    """Compare use of the runs' GPUs by other processes: their time matters, their memory is noted."""
    time, memory = "other_gpu_utilization", "other_gpu_memory_bytes"
    if max(_known(a, b, time), default=0.0) > FOREIGN_UTILIZATION:
        return _status("matters", (time,), a, b)
    if max(_known(a, b, memory), default=0) > FOREIGN_MEMORY_BYTES:
        return _status("warns", (memory,), a, b)
    return _unknown_status((time, memory), a, b) or _status("same", (time, memory), a, b)


def _status(
    level: Literal["same", "warns", "matters"], names: tuple[str, ...], a: Sequence[Conditions], b: Sequence[Conditions]
) -> ConditionStatus:
    return ConditionStatus(level, names, _values(names, a, b))


def _unknown_status(names: tuple[str, ...], a: Sequence[Conditions], b: Sequence[Conditions]) -> ConditionStatus | None:
    """Return the unknown status if one of these fields is unknown in a run, or an arm has no runs; else None."""
    missing = tuple(name for name in names if any(getattr(condition, name) is None for condition in chain(a, b)))
    if a and b and not missing:
        return None
    reasons = [condition.reasons[name] for name in missing for condition in chain(a, b) if name in condition.reasons]
    distinct_reasons = tuple(why for index, why in enumerate(reasons) if why not in reasons[:index])
    return ConditionStatus("unknown", missing, _values(missing, a, b), distinct_reasons)


def _values(
    names: tuple[str, ...], a: Sequence[Conditions], b: Sequence[Conditions]
) -> dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]]:
    return {
        name: (tuple(getattr(condition, name) for condition in a), tuple(getattr(row, name) for row in b))
        for name in names
    }


def _known(a: Sequence[Conditions], b: Sequence[Conditions], name: str) -> list[Any]:
    return [value for condition in chain(a, b) if (value := getattr(condition, name)) is not None]


def _others_worked(a: Sequence[Conditions], b: Sequence[Conditions]) -> bool:
    """Whether other processes used more CPU than Pitwall's client and collectors do; true if unknown."""
    cores = [condition.other_cores for condition in chain(a, b)]
    return any(count is None or count > MAX_OTHER_CORES for count in cores)


def _ran_unlike(a: Sequence[Conditions], b: Sequence[Conditions]) -> bool:
    """Whether CPU shares differ; a server that waits 94 % of the time has two thirds of the CPU of one at 91 %."""
    cpu_shares = [1.0 - ratio for ratio in _known(a, b, "starvation_ratio")]
    return bool(cpu_shares) and max(cpu_shares) > UNLIKE_RAN * min(cpu_shares)


def _spread(a: Sequence[Conditions], b: Sequence[Conditions], name: str) -> float:
    """Return the largest difference between two runs; 0 if fewer than two have the value."""
    values = _known(a, b, name)
    return max(values) - min(values) if values else 0.0
