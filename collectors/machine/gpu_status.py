"""One reading of the machine's GPUs: for a run's provenance, and to check whether a stopped run freed its memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from collectors.base import OutageError, UnavailableError
from collectors.machine.gpu import Provider
from collectors.machine.nvml import NvmlProvider
from domain import JsonValue


@dataclass(frozen=True, slots=True)
class GpuStatus:
    """Report of the driver; without a driver `reason` says why it is empty."""

    driver_version: str | None = None
    cuda_version: str | None = None
    gpus: list[Mapping[str, JsonValue]] = field(default_factory=list)  # identity, limits and clocks, one entry per GPU
    memory_by_pid: Mapping[int, int | None] = field(default_factory=dict)  # bytes; None: unknown
    reason: str | None = None


def read_gpu_status(make_provider: Callable[[], Provider] = NvmlProvider) -> GpuStatus:
    """Read the driver's state over a separate connection, independent of the collector."""
    provider = make_provider()
    try:
        driver, readings = provider.probe(), provider.sample()
    except (UnavailableError, OutageError) as refusal:
        return GpuStatus(reason=str(refusal))
    finally:
        provider.close()
    memory_by_pid: dict[int, int | None] = {}
    for reading in readings:
        for pid, size in (reading.processes or {}).items():
            memory_by_pid[pid] = None if size is None else (memory_by_pid.get(pid) or 0) + size
    clocks = [{name: r.values.get(name) for name in ("power_limit_w", "sm_clock_max_mhz")} for r in readings]
    gpus: list[Mapping[str, JsonValue]] = [
        gpu | gpu_clocks for gpu, gpu_clocks in zip(driver.gpus, clocks, strict=True)
    ]
    return GpuStatus(driver.driver_version, driver.cuda_version, gpus, memory_by_pid)
