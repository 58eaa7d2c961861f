"""NVIDIA's management library (NVML), kept open: each value, or the reason why the driver does not report it."""

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
# After one of these every handle is invalid and NVML must be reopened.
FATAL_ERRORS = (
    pynvml.NVML_ERROR_UNINITIALIZED,
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
    pynvml.NVML_ERROR_GPU_IS_LOST,
    pynvml.NVML_ERROR_RESET_REQUIRED,
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
)
REASONS = {
    pynvml.NVML_ERROR_NOT_SUPPORTED: "this GPU does not report it",
    pynvml.NVML_ERROR_NO_PERMISSION: "the driver does not report it to this user",
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: "this driver is too old to report it",
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH: "this driver is too old to report it",
}
FIRST_INTERVAL_S = 1.0
UNIFIED_ZERO = "reads 0 if GPU and CPU share their memory"


class NvmlProvider:
    """Reads this machine's GPUs through nvidia-ml-py; not thread-safe, the collector serializes its calls."""

    def __init__(self) -> None:
        self._handles: list[Any] = []
        self._last_sample_us: dict[int, int] = {}  # GPU -> time of the newest process sample read

    def probe(self) -> Capabilities:
        """Return driver and GPUs; raises UnavailableError without a GPU, OutageError if the driver fails."""
        with self._driver():
            return Capabilities(
                driver_version=_text(_query(pynvml.nvmlSystemGetDriverVersion)[0]),
                cuda_version=_cuda_version(_query(pynvml.nvmlSystemGetCudaDriverVersion_v2)[0]),
                gpus=[_identity(index, handle) for index, handle in enumerate(self._handles)],
            )

    def sample(self) -> list[GpuReading]:
        """Return one reading per GPU; raises OutageError if the driver fails, and the next call reopens it."""
        with self._driver():
            readings = [_read(index, handle) for index, handle in enumerate(self._handles)]
            for reading, handle in zip(readings, self._handles, strict=True):
                self._read_shares(reading, handle)
            return readings

    def _read_shares(self, reading: GpuReading, handle: Any) -> None:
        """Set each process's share of GPU time since the last reading: the mean of the driver's own samples.

        The first reading covers one second: without a start time a driver reports each process's whole life.
        """
        since_us = self._last_sample_us.get(reading.index) or round((time.time() - FIRST_INTERVAL_S) * 1e6)
        samples, reason = _query(_process_samples, handle, since_us)
        if samples is None:
            reading.shares_unknown = reason
            return
        self._last_sample_us[reading.index] = max((sample.timeStamp for sample in samples), default=since_us)
        by_pid: dict[int, list[float]] = {}
        for sample in samples:
            by_pid.setdefault(sample.pid, []).append(_hundredth(sample.smUtil))
        reading.shares = {pid: fmean(ratios) for pid, ratios in by_pid.items()}

    def close(self) -> None:
        """Release the driver."""
        if self._handles:
            self._handles = []
            _query(pynvml.nvmlShutdown, fatal_errors=())

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


def _query(
    call: Callable[..., Any], *args: Any, fatal_errors: tuple[int, ...] = FATAL_ERRORS
) -> tuple[Any, str | None]:
    """Return the driver's answer, or the reason why there is none; raises only if the driver itself fails."""
    try:
        return call(*args), None
    except pynvml.NVMLError as problem:
        if problem.value in fatal_errors:
            raise
        return None, REASONS.get(problem.value, str(problem))


def _process_samples(handle: Any, since_us: int) -> Sequence[Any]:
    """Return the driver's samples of processes that ran since then; without any it answers 'not found'."""
    try:
        samples: Sequence[Any] = pynvml.nvmlDeviceGetProcessUtilization(handle, since_us)
    except pynvml.NVMLError as problem:
        if problem.value != pynvml.NVML_ERROR_NOT_FOUND:
            raise
        return ()
    return samples


def _read(index: int, handle: Any) -> GpuReading:
    reading = GpuReading(index)
    reading.set("gpu_uuid", *_query(pynvml.nvmlDeviceGetUUID, handle), _text)
    reading.set("gpu_name", *_query(pynvml.nvmlDeviceGetName, handle), _text)
    _read_power(reading, handle)
    _read_clocks(reading, handle)
    _read_memory(reading, handle)
    reading.set("temperature_c", *_query(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU), float)
    reading.set("throttle_reasons", *_query(pynvml.nvmlDeviceGetCurrentClocksEventReasons, handle), int)
    processes, reason = _query(pynvml.nvmlDeviceGetComputeRunningProcesses, handle)
    reading.processes = None if processes is None else {p.pid: p.usedGpuMemory for p in processes}
    reading.processes_unknown = reason
    return reading


def _read_power(reading: GpuReading, handle: Any) -> None:
    """Read instantaneous power, else the driver's average (over one second on most cards since Ampere)."""
    watts, reason = _field(handle, pynvml.NVML_FI_DEV_POWER_INSTANT)
    if watts is None:
        watts, reason = _query(pynvml.nvmlDeviceGetPowerUsage, handle)
    reading.set("power_w", watts, reason, _thousandth)
    reading.set("power_limit_w", *_query(pynvml.nvmlDeviceGetEnforcedPowerLimit, handle), _thousandth)
    reading.set("energy_j_total", *_query(pynvml.nvmlDeviceGetTotalEnergyConsumption, handle), _thousandth)


def _read_clocks(reading: GpuReading, handle: Any) -> None:
    for name, call, clock_type in (
        ("sm_clock_mhz", pynvml.nvmlDeviceGetClockInfo, pynvml.NVML_CLOCK_SM),
        ("sm_clock_max_mhz", pynvml.nvmlDeviceGetMaxClockInfo, pynvml.NVML_CLOCK_SM),
        ("memory_clock_mhz", pynvml.nvmlDeviceGetClockInfo, pynvml.NVML_CLOCK_MEM),
    ):
        reading.set(name, *_query(call, handle, clock_type), float)


def _read_memory(reading: GpuReading, handle: Any) -> None:
    """Read memory values; a GPU without dedicated memory shares the machine's."""
    memory, reason = _query(lambda: pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2))
    if memory is None:
        memory, reason = _query(pynvml.nvmlDeviceGetMemoryInfo, handle)
    is_shared = memory is None and reason == REASONS[pynvml.NVML_ERROR_NOT_SUPPORTED]
    if is_shared:
        machine = psutil.virtual_memory()
        used_bytes, total_bytes, reason = machine.total - machine.available, machine.total, None
    else:
        used_bytes, total_bytes = (memory.used, memory.total) if memory is not None else (None, None)
    reading.set("memory_used_bytes", used_bytes, reason, int)
    reading.set("memory_total_bytes", total_bytes, reason, int)
    reading.set("memory_kind", None if total_bytes is None else "unified" if is_shared else "dedicated", reason, str)
    rates, reason = _query(pynvml.nvmlDeviceGetUtilizationRates, handle)
    reading.set("utilization_ratio", None if rates is None else rates.gpu, reason, _hundredth)
    temperature_c, temperature_reason = _field(handle, pynvml.NVML_FI_DEV_MEMORY_TEMP)
    if is_shared:
        rates = temperature_c = None
        reason = temperature_reason = UNIFIED_ZERO
    reading.set("memory_utilization_ratio", None if rates is None else rates.memory, reason, _hundredth)
    reading.set("memory_temperature_c", temperature_c, temperature_reason, float)


def _field(handle: Any, field: int) -> tuple[int | None, str | None]:
    """Read one of NVML's numbered fields; all fields read here are unsigned integers."""
    values, reason = _query(pynvml.nvmlDeviceGetFieldValues, handle, [field])
    if values is None:
        return None, reason
    if values[0].nvmlReturn in FATAL_ERRORS:
        raise pynvml.NVMLError(values[0].nvmlReturn)
    if values[0].nvmlReturn != pynvml.NVML_SUCCESS:
        return None, REASONS.get(values[0].nvmlReturn, str(pynvml.NVMLError(values[0].nvmlReturn)))
    return int(values[0].value.uiVal), None


def _identity(index: int, handle: Any) -> dict[str, Any]:
    """Return a GPU's identity as far as reported, for the run's fingerprint and for display."""
    pci, _ = _query(pynvml.nvmlDeviceGetPciInfo, handle)
    ecc, _ = _query(pynvml.nvmlDeviceGetEccMode, handle)
    mig, _ = _query(pynvml.nvmlDeviceGetMigMode, handle)
    persistence, _ = _query(pynvml.nvmlDeviceGetPersistenceMode, handle)
    clock_mhz, _ = _query(pynvml.nvmlDeviceGetApplicationsClock, handle, pynvml.NVML_CLOCK_SM)
    instant, _ = _field(handle, pynvml.NVML_FI_DEV_POWER_INSTANT)
    capability, _ = _query(pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    reading = _read(index, handle)
    return {
        "index": index,
        "uuid": reading.values.get("gpu_uuid"),
        "name": reading.values.get("gpu_name"),
        "compute_capability": None if capability is None else f"{capability[0]}.{capability[1]}",
        "memory_total_bytes": reading.values.get("memory_total_bytes"),
        "memory_used_bytes": reading.values.get("memory_used_bytes"),
        "memory_kind": reading.values.get("memory_kind"),
        "vbios": _text(_query(pynvml.nvmlDeviceGetVbiosVersion, handle)[0]),
        "pci_bus_id": None if pci is None else _text(pci.busId),
        "ecc": None if ecc is None else bool(ecc[0]),
        "mig": None if mig is None else bool(mig[0]),
        "persistence": None if persistence is None else bool(persistence),
        "application_clock_mhz": None if clock_mhz is None else float(clock_mhz),
        "power_from": "instant" if instant is not None else "average over about a second",
        "unknown": reading.unknown,
    }


def _text(value: Any) -> str | None:
    """Decode the bytes that older releases of the library return."""
    return value.decode() if isinstance(value, bytes) else value


def _cuda_version(number: int | None) -> str | None:
    return None if number is None else f"{number // 1000}.{number % 1000 // 10}"


def _thousandth(value: float) -> float:
    return value / 1000


def _hundredth(value: float) -> float:
    return value / 100
