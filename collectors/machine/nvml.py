"""NVIDIA's management library, kept open: every value or the reason why the driver does not give it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import fmean
from typing import Any

import psutil
import pynvml

from collectors.base import OutageError, UnavailableError
from collectors.machine.gpu import Capabilities, GpuReading

NO_DRIVER = (
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND,
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
)
# After one of these every handle is void: NVML has to be opened anew.
LOST = (
    pynvml.NVML_ERROR_UNINITIALIZED,
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
    pynvml.NVML_ERROR_GPU_IS_LOST,
    pynvml.NVML_ERROR_RESET_REQUIRED,
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
)
REASONS = {
    pynvml.NVML_ERROR_NOT_SUPPORTED: "this GPU does not tell it",
    pynvml.NVML_ERROR_NO_PERMISSION: "the driver does not tell it to this user",
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: "this driver is too old to tell it",
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH: "this driver is too old to tell it",
}
FIRST_LOOK_S = 1.0
UNIFIED_ZERO = "reads 0 where GPU and CPU share their memory"


class NvmlProvider:
    """The GPUs of this machine through nvidia-ml-py; not safe for threads, its collector takes ticks."""

    def __init__(self) -> None:
        self._handles: list[Any] = []
        self._seen_us: dict[int, int] = {}  # GPU -> the newest sample of its processes that was read

    def probe(self) -> Capabilities:
        """What there is and how its power is measured; raises UnavailableError without a GPU, else OutageError."""
        with self._driver():
            return Capabilities(
                driver_version=_text(_asked(pynvml.nvmlSystemGetDriverVersion)[0]),
                cuda_version=_cuda_version(_asked(pynvml.nvmlSystemGetCudaDriverVersion_v2)[0]),
                gpus=[_identity(index, handle) for index, handle in enumerate(self._handles)],
            )

    def sample(self) -> list[GpuReading]:
        """One reading per GPU; raises OutageError when the driver is lost, and opens it anew with the next call."""
        with self._driver():
            readings = [_read(index, handle) for index, handle in enumerate(self._handles)]
            for reading, handle in zip(readings, self._handles, strict=True):
                self._read_shares(reading, handle)
            return readings

    def _read_shares(self, reading: GpuReading, handle: Any) -> None:
        """Each process's share of the GPU's time since the last reading: the mean of the driver's own samples.

        At first since a second ago: asked for all, a driver reports each process's whole life.
        """
        since_us = self._seen_us.get(reading.index) or round((time.time() - FIRST_LOOK_S) * 1e6)
        samples, why = _asked(_process_samples, handle, since_us)
        if samples is None:
            reading.shares_unknown = why
            return
        self._seen_us[reading.index] = max((one.timeStamp for one in samples), default=since_us)
        by_pid: dict[int, list[float]] = {}
        for one in samples:
            by_pid.setdefault(one.pid, []).append(_hundredth(one.smUtil))
        reading.shares = {pid: fmean(ratios) for pid, ratios in by_pid.items()}

    def close(self) -> None:
        """Let go of the driver."""
        if self._handles:
            self._handles = []
            _asked(pynvml.nvmlShutdown, lost=())

    @contextmanager
    def _driver(self) -> Iterator[None]:
        self._open()
        try:
            yield
        except pynvml.NVMLError as problem:
            self.close()
            raise OutageError(f"the NVIDIA driver does not answer: {problem}") from None

    def _open(self) -> None:
        if self._handles:
            return
        try:
            pynvml.nvmlInit()
            self._handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        except pynvml.NVMLError as problem:
            if problem.value in NO_DRIVER:
                raise UnavailableError("no NVIDIA driver on this machine") from None
            raise UnavailableError(f"the NVIDIA driver does not start: {problem}") from None
        if not self._handles:
            raise UnavailableError("no NVIDIA GPU on this machine")


def _asked(call: Callable[..., Any], *args: Any, lost: tuple[int, ...] = LOST) -> tuple[Any, str | None]:
    """The driver's answer, or the reason why there is none; raises only when the driver itself is lost."""
    try:
        return call(*args), None
    except pynvml.NVMLError as problem:
        if problem.value in lost:
            raise
        return None, REASONS.get(problem.value, str(problem))


def _process_samples(handle: Any, since_us: int) -> Sequence[Any]:
    """The driver's samples of processes that ran something since then; it calls their absence 'not found'."""
    try:
        found: Sequence[Any] = pynvml.nvmlDeviceGetProcessUtilization(handle, since_us)
    except pynvml.NVMLError as problem:
        if problem.value != pynvml.NVML_ERROR_NOT_FOUND:
            raise
        return ()
    return found


def _read(index: int, handle: Any) -> GpuReading:
    reading = GpuReading(index)
    reading.put("gpu_uuid", *_asked(pynvml.nvmlDeviceGetUUID, handle), _text)
    reading.put("gpu_name", *_asked(pynvml.nvmlDeviceGetName, handle), _text)
    _read_power(reading, handle)
    _read_clocks(reading, handle)
    _read_memory(reading, handle)
    reading.put("temperature_c", *_asked(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU), float)
    reading.put("throttle_reasons", *_asked(pynvml.nvmlDeviceGetCurrentClocksEventReasons, handle), int)
    processes, why = _asked(pynvml.nvmlDeviceGetComputeRunningProcesses, handle)
    reading.processes = None if processes is None else {p.pid: p.usedGpuMemory for p in processes}
    reading.processes_unknown = why
    return reading


def _read_power(reading: GpuReading, handle: Any) -> None:
    """Instant power, else the driver's average (a second long on most cards since Ampere)."""
    watts, why = _field(handle, pynvml.NVML_FI_DEV_POWER_INSTANT)
    if watts is None:
        watts, why = _asked(pynvml.nvmlDeviceGetPowerUsage, handle)
    reading.put("power_w", watts, why, _thousandth)
    reading.put("power_limit_w", *_asked(pynvml.nvmlDeviceGetEnforcedPowerLimit, handle), _thousandth)
    reading.put("energy_j_total", *_asked(pynvml.nvmlDeviceGetTotalEnergyConsumption, handle), _thousandth)


def _read_clocks(reading: GpuReading, handle: Any) -> None:
    for name, call, kind in (
        ("sm_clock_mhz", pynvml.nvmlDeviceGetClockInfo, pynvml.NVML_CLOCK_SM),
        ("sm_clock_max_mhz", pynvml.nvmlDeviceGetMaxClockInfo, pynvml.NVML_CLOCK_SM),
        ("memory_clock_mhz", pynvml.nvmlDeviceGetClockInfo, pynvml.NVML_CLOCK_MEM),
    ):
        reading.put(name, *_asked(call, handle, kind), float)


def _read_memory(reading: GpuReading, handle: Any) -> None:
    """Memory and what depends on its kind: a GPU without memory of its own shares the machine's."""
    memory, why = _asked(lambda: pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2))
    if memory is None:
        memory, why = _asked(pynvml.nvmlDeviceGetMemoryInfo, handle)
    shared = memory is None and why == REASONS[pynvml.NVML_ERROR_NOT_SUPPORTED]
    if shared:
        machine = psutil.virtual_memory()
        used, total, why = machine.total - machine.available, machine.total, None
    else:
        used, total = (memory.used, memory.total) if memory is not None else (None, None)
    reading.put("memory_used_bytes", used, why, int)
    reading.put("memory_total_bytes", total, why, int)
    reading.put("memory_kind", None if total is None else "unified" if shared else "dedicated", why, str)
    rates, why = _asked(pynvml.nvmlDeviceGetUtilizationRates, handle)
    reading.put("utilization_ratio", None if rates is None else rates.gpu, why, _hundredth)
    degrees, why_degrees = _field(handle, pynvml.NVML_FI_DEV_MEMORY_TEMP)
    if shared:
        rates = degrees = None
        why = why_degrees = UNIFIED_ZERO
    reading.put("memory_utilization_ratio", None if rates is None else rates.memory, why, _hundredth)
    reading.put("memory_temperature_c", degrees, why_degrees, float)


def _field(handle: Any, field: int) -> tuple[int | None, str | None]:
    """One of NVML's numbered fields, all of which we read are unsigned integers."""
    values, why = _asked(pynvml.nvmlDeviceGetFieldValues, handle, [field])
    if values is None:
        return None, why
    if values[0].nvmlReturn in LOST:
        raise pynvml.NVMLError(values[0].nvmlReturn)
    if values[0].nvmlReturn != pynvml.NVML_SUCCESS:
        return None, REASONS.get(values[0].nvmlReturn, str(pynvml.NVMLError(values[0].nvmlReturn)))
    return int(values[0].value.uiVal), None


def _identity(index: int, handle: Any) -> dict[str, Any]:
    """What a GPU is, as far as it says; for the run's fingerprint and for the person who looks."""
    pci, _ = _asked(pynvml.nvmlDeviceGetPciInfo, handle)
    ecc, _ = _asked(pynvml.nvmlDeviceGetEccMode, handle)
    mig, _ = _asked(pynvml.nvmlDeviceGetMigMode, handle)
    persistence, _ = _asked(pynvml.nvmlDeviceGetPersistenceMode, handle)
    clock_mhz, _ = _asked(pynvml.nvmlDeviceGetApplicationsClock, handle, pynvml.NVML_CLOCK_SM)
    instant, _ = _field(handle, pynvml.NVML_FI_DEV_POWER_INSTANT)
    capability, _ = _asked(pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    reading = _read(index, handle)
    return {
        "index": index,
        "uuid": reading.values.get("gpu_uuid"),
        "name": reading.values.get("gpu_name"),
        "compute_capability": None if capability is None else f"{capability[0]}.{capability[1]}",
        "memory_total_bytes": reading.values.get("memory_total_bytes"),
        "memory_used_bytes": reading.values.get("memory_used_bytes"),
        "memory_kind": reading.values.get("memory_kind"),
        "vbios": _text(_asked(pynvml.nvmlDeviceGetVbiosVersion, handle)[0]),
        "pci_bus_id": None if pci is None else _text(pci.busId),
        "ecc": None if ecc is None else bool(ecc[0]),
        "mig": None if mig is None else bool(mig[0]),
        "persistence": None if persistence is None else bool(persistence),
        "application_clock_mhz": None if clock_mhz is None else float(clock_mhz),
        "power_from": "instant" if instant is not None else "average over about a second",
        "unknown": reading.unknown,
    }


def _text(value: Any) -> str | None:
    """Older releases of the library give bytes."""
    return value.decode() if isinstance(value, bytes) else value


def _cuda_version(number: int | None) -> str | None:
    return None if number is None else f"{number // 1000}.{number % 1000 // 10}"


def _thousandth(value: float) -> float:
    return value / 1000


def _hundredth(value: float) -> float:
    return value / 100
