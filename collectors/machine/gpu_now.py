"""One reading of the machine's GPUs: for a run's provenance, and to see whether a stopped run has freed its memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from collectors.base import OutageError, UnavailableError
from collectors.machine.gpu import Provider
from collectors.machine.nvml import NvmlProvider
from domain import JsonValue


@dataclass(frozen=True, slots=True)
class GpusNow:
    """What the driver reported; without one `reason` says why there is nothing."""

    driver_version: str | None = None
    cuda_version: str | None = None
    gpus: list[Mapping[str, JsonValue]] = field(default_factory=list)  # identity, limits and clocks, one a GPU
    memory_by_pid: Mapping[int, int | None] = field(default_factory=dict)  # bytes; None where they are not known
    reason: str | None = None


def look_at_gpus(make_provider: Callable[[], Provider] = NvmlProvider) -> GpusNow:
    """Ask the driver on a connection of its own, for whoever is not the collector."""
    provider = make_provider()
    try:
        driver, readings = provider.probe(), provider.sample()
    except (UnavailableError, OutageError) as refusal:
        return GpusNow(reason=str(refusal))
    finally:
        provider.close()
    used: dict[int, int | None] = {}
    for reading in readings:
        for pid, size in (reading.processes or {}).items():
            used[pid] = None if size is None else (used.get(pid) or 0) + size
    clocks = [{name: r.values.get(name) for name in ("power_limit_w", "sm_clock_max_mhz")} for r in readings]
    gpus: list[Mapping[str, JsonValue]] = [gpu | known for gpu, known in zip(driver.gpus, clocks, strict=True)]
    return GpusNow(driver.driver_version, driver.cuda_version, gpus, used)
