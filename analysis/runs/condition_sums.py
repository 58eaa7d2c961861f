"""Derives a run's conditions in an interval from counter increments; unknown values have a reason."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import reduce
from itertools import chain
from operator import or_
from typing import Any, NamedTuple

from analysis.runs.conditions import HARDWARE, SW_POWER_CAP, Conditions, Span
from reasons import Code, Reason

UNCOVERED_S = 2.0  # of an interval that samples may miss, or
UNCOVERED_RATIO = 0.2  # this share of a longer interval
NOT_RECORDED = Reason(Code.COLUMN_NOT_RECORDED)
NO_GPU = Reason(Code.NO_GPU_LOOKED_AT_WITHIN)
HOST_COLUMNS = {  # field -> column of host_samples that has its reason
    "starvation_ratio": "runnable_wait_seconds_total",
    "wait_share": "runnable_wait_seconds_total",
    "throttled_ratio": "throttled_seconds_total",
    "steal_ratio": "host_steal_seconds_total",
    "host_busy_ratio": "host_busy_seconds_total",
    "own_cores": "cpu_seconds_total",
    "other_cores": "host_busy_seconds_total",
}
GPU_COLUMNS = {  # likewise, of gpu_samples
    "throttle_bits": "throttle_reasons",
    "hardware_throttled": "throttle_reasons",
    "power_capped": "throttle_reasons",
    "sm_clock_mhz_median": "sm_clock_mhz",
    "sm_clock_ratio": "sm_clock_max_mhz",
    "memory_clock_mhz_median": "memory_clock_mhz",
    "power_limits_w": "power_limit_w",
    "other_gpu_memory_bytes": "other_memory_bytes",
    "other_gpu_utilization": "other_utilization_ratio",
    "energy_j": "energy_j_total",
}


class HostSums(NamedTuple):
    """Increments over one interval, from `conditions.sql`, in seconds. None: unknown."""

    samples: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None
    covered_s: float | None = None
    own_s: float | None = None
    run_s: float | None = None
    wait_s: float | None = None
    throttled_s: float | None = None
    all_s: float | None = None
    busy_s: float | None = None
    steal_s: float | None = None
    unknown: Mapping[str, str] = {}


class GpuSums(NamedTuple):
    """One GPU over one interval, from `gpu_conditions.sql`."""

    gpu_index: int
    samples: int
    first_at: datetime
    last_at: datetime
    gpu_name: str | None = None
    gpu_uuid: str | None = None
    covered_s: float | None = None
    counted_j: float | None = None
    drawn_j: float | None = None
    throttle_bits: int | None = None
    sm_clock_mhz: float | None = None
    sm_clock_max_mhz: float | None = None
    memory_clock_mhz: float | None = None
    power_limits_w: Sequence[float] | None = None  # distinct values
    other_memory_bytes: int | None = None
    other_utilization: float | None = None
    other_utilization_before: float | None = None  # in the seconds before the interval
    unknown: Mapping[str, str] = {}


def conditions_of(
    span: Span, host: HostSums | None, gpus: Sequence[GpuSums], silent: Mapping[str, str] | None = None
) -> Conditions:
    """Return the conditions in an interval; `silent`: collector -> why it has no samples of the run."""
    host, silent = host or HostSums(), silent or {}
    host_values, gpu_values = _host_values(span, host), _gpu_values(span, gpus)
    no_host = _gap(span, host) and (_collector_reason(silent, "host") or _gap(span, host))
    no_gpu = _collector_reason(silent, "gpu") or NO_GPU
    reasons = {
        name: no_host or _collector_reason(host.unknown, column) or NOT_RECORDED
        for name, column in HOST_COLUMNS.items()
    }
    reasons |= {name: _gpu_reason(span, gpus, column) or no_gpu for name, column in GPU_COLUMNS.items()}
    values = host_values | gpu_values
    return Conditions(
        span.run_id,
        span.load_id,
        **values,
        samples=host.samples,
        gpu_names=tuple(gpu.gpu_name or "" for gpu in gpus),
        gpu_uuids=tuple(gpu.gpu_uuid or "" for gpu in gpus),
        reasons={name: why for name, why in reasons.items() if values.get(name) is None},
    )


def _collector_reason(sentences: Mapping[str, str], name: str) -> Reason | None:
    """Return a collector's own message as a reason."""
    return Reason(Code.COLLECTOR_SAYS, values={"text": sentences[name]}) if name in sentences else None


def _gap(span: Span, sums: HostSums | GpuSums) -> Reason | None:
    """Return why the samples do not represent the interval; None if they do."""
    if sums.samples < 2 or sums.first_at is None or sums.last_at is None:
        return Reason(Code.TOO_FEW_SAMPLES_WITHIN, values={"samples": sums.samples, "span_s": span.seconds})
    seen_s = (min(sums.last_at, span.ended_at) - max(sums.first_at, span.began_at)).total_seconds()
    if span.seconds - seen_s > max(UNCOVERED_S, UNCOVERED_RATIO * span.seconds):
        return Reason(Code.LOOKED_AT_IN_PART, values={"seen_s": max(seen_s, 0.0), "span_s": span.seconds})
    return None


def _host_values(span: Span, host: HostSums) -> dict[str, Any]:
    if _gap(span, host):
        return {}
    others_s = None if host.busy_s is None or host.own_s is None else max(host.busy_s - host.own_s, 0.0)
    wanted_s = None if host.run_s is None or host.wait_s is None else host.run_s + host.wait_s
    return {
        "starvation_ratio": _ratio(host.wait_s, wanted_s),
        "wait_share": _ratio(host.wait_s, host.covered_s),
        "throttled_ratio": _ratio(host.throttled_s, host.covered_s),
        "steal_ratio": _ratio(host.steal_s, host.all_s),
        "host_busy_ratio": _ratio(host.busy_s, host.all_s),
        "own_cores": _ratio(host.own_s, host.covered_s),
        "other_cores": _ratio(others_s, host.covered_s),
    }


def _gpu_values(span: Span, gpus: Sequence[GpuSums]) -> dict[str, Any]:
    covered_gpus = [gpu for gpu in gpus if not _gap(span, gpu)]
    if not gpus or len(covered_gpus) < len(gpus):
        return {}
    return _slowed(covered_gpus) | {
        "sm_clock_mhz_median": _combine_known(min, [gpu.sm_clock_mhz for gpu in covered_gpus]),
        "sm_clock_ratio": _combine_known(min, [_ratio(gpu.sm_clock_mhz, gpu.sm_clock_max_mhz) for gpu in covered_gpus]),
        "memory_clock_mhz_median": _combine_known(min, [gpu.memory_clock_mhz for gpu in covered_gpus]),
        "power_limits_w": _combine_known(_each_once, [gpu.power_limits_w for gpu in covered_gpus]),
        "other_gpu_memory_bytes": _combine_known(sum, [gpu.other_memory_bytes for gpu in covered_gpus]),
        "other_gpu_utilization": _combine_known(max, [_others_share(gpu) for gpu in covered_gpus]),
        "energy_j": _combine_known(math.fsum, [_energy_j(span, gpu) for gpu in covered_gpus]),
    }


def _slowed(gpus: Sequence[GpuSums]) -> dict[str, Any]:
    """Return the throttle reasons: one throttled GPU is enough to assert it, all must be known to deny it."""
    bits: int | None = _combine_known(lambda bits: reduce(or_, bits), [gpu.throttle_bits for gpu in gpus])
    known_bits = reduce(or_, (gpu.throttle_bits or 0 for gpu in gpus))
    by_hardware = True if known_bits & HARDWARE else None if bits is None else False
    return {
        "throttle_bits": bits,
        "hardware_throttled": by_hardware,
        "power_capped": None if bits is None else bool(bits & SW_POWER_CAP) and not by_hardware,
    }


def _energy_j(span: Span, gpu: GpuSums) -> float | None:
    """Return the energy by the GPU's counter, else from its power, scaled from the sampled seconds to the interval."""
    joules = gpu.counted_j if gpu.counted_j is not None else gpu.drawn_j
    watts = _ratio(joules, gpu.covered_s)
    return None if watts is None else watts * span.seconds


def _others_share(gpu: GpuSums) -> float | None:
    """Return the GPU time share of other processes, the larger of during and just before the interval.

    The driver attributes each fifth of a second to one process, so a small neighbour of a busy server may not show.
    """
    if gpu.other_utilization is None:
        return None
    return max(gpu.other_utilization, gpu.other_utilization_before or 0.0)


def _gpu_reason(span: Span, gpus: Sequence[GpuSums], column: str) -> Reason | None:
    """Return the first reason of any of the GPUs."""
    gaps = [gap for gpu in gpus if (gap := _gap(span, gpu))]
    reasons = [why for gpu in gpus if (why := _collector_reason(gpu.unknown, column))]
    return next(iter([*gaps, *reasons]), NOT_RECORDED if gpus else None)


def _each_once(limits_w: Sequence[Sequence[float]]) -> tuple[float, ...]:
    return tuple(sorted(set(chain.from_iterable(limits_w))))


def _combine_known(combine: Any, values: Sequence[Any]) -> Any:
    """Combine the values; None if one of them is unknown."""
    return None if any(value is None for value in values) else combine(values)


def _ratio(part: float | None, total: float | None) -> float | None:
    return None if part is None or not total else part / total
