"""Samples of this machine's GPUs once a second, from any provider of readings."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from collectors.base import Clock, Collector, UnavailableError
from collectors.machine.processes import ProcessTable
from commands.gpus import stated_gpus
from domain import Run
from samples import Batch, GpuSample


@dataclass(slots=True)
class GpuReading:
    """Values of one GPU by field name of `GpuSample`, and its memory by process."""

    index: int
    values: dict[str, Any] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    processes: dict[int, int | None] | None = None  # pid -> bytes, None if the driver does not report them
    processes_unknown: str | None = None
    shares: dict[int, float] | None = None  # pid -> share of recent time that its kernels ran; absent: none ran
    shares_unknown: str | None = None

    def set(self, name: str, value: Any, reason: str | None, scale: Callable[[Any], Any]) -> None:
        """Store a value in the sample's unit, or the reason why it is unknown."""
        if value is None:
            self.unknown[name] = reason or "the driver returned nothing"
        else:
            self.values[name] = scale(value)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Driver and GPUs, each with its identity and the values that it does not report."""

    driver_version: str | None
    cuda_version: str | None
    gpus: list[dict[str, Any]]


class Provider(Protocol):
    """Source of readings: NVML, or a recording in tests."""

    def probe(self) -> Capabilities:
        """Return driver and GPUs; raises UnavailableError if there are none."""
        ...

    def sample(self) -> list[GpuReading]:
        """Return one reading per GPU; raises UnavailableError or OutageError."""
        ...

    def close(self) -> None:
        """Release the driver, if one was loaded."""
        ...


class GpuCollector(Collector):
    """Samples the GPUs of each run: those its processes use, else those in its config, else all of the machine."""

    name = "gpu"

    def __init__(
        self,
        machine_id: str,
        provider: Provider,
        table: ProcessTable | None = None,
        clock: Clock | None = None,
        period_s: float = 1.0,
    ) -> None:
        self.period_s = period_s
        self._machine_id = machine_id
        self._provider = provider
        self._table = table or ProcessTable()
        self._clock = clock or Clock()
        self._lock = threading.Lock()
        self._last: tuple[float, Sequence[GpuReading]] | None = None
        self._used_gpus: dict[str, set[int]] = {}

    def collect(self, run: Run) -> Iterable[Batch]:
        """Return one sample per GPU of the run; raises UnavailableError without a driver, OutageError if it fails."""
        if run.machine_id != self._machine_id:
            raise UnavailableError("the server runs on another machine: its GPUs are not visible here")
        mono_s, readings = self._readings()
        pids = self._pids(run, mono_s)
        run_readings = self._run_readings(run, readings, pids)
        return [Batch(tuple(self._sample(run, reading, pids, mono_s) for reading in run_readings))]

    def forget(self, run_id: str) -> None:
        """Forget which GPUs the processes of this run used."""
        self._used_gpus.pop(run_id, None)

    def _readings(self) -> tuple[float, Sequence[GpuReading]]:
        """Return the driver's readings, which all runs of one tick share."""
        with self._lock:
            now = self._clock.mono_s()
            if self._last is None or now - self._last[0] > self.period_s / 2:
                self._last = None
                self._last = (now, self._provider.sample())
            return self._last

    def _pids(self, run: Run, mono_s: float) -> set[int]:
        if run.pid is None:
            return set()
        return {process.pid for process in self._table.tree(run.pid, run.pid_birth_s, mono_s)}

    def _run_readings(self, run: Run, readings: Sequence[GpuReading], pids: set[int]) -> Sequence[GpuReading]:
        used_gpus = self._used_gpus.setdefault(run.id, set())
        used_gpus |= {reading.index for reading in readings if reading.processes and pids & reading.processes.keys()}
        config_gpus = stated_gpus(run.config)
        stated_readings = [
            r for r in readings if str(r.index) in config_gpus or r.values.get("gpu_uuid") in config_gpus
        ]
        return [r for r in readings if r.index in used_gpus] or stated_readings or readings

    def _sample(self, run: Run, reading: GpuReading, pids: set[int], mono_s: float) -> GpuSample:
        memory, unknown = _memory_by_owner(reading, pids)
        other_ratio, reason = _other_utilization(reading, pids)
        return GpuSample(
            run_id=run.id,
            ts=self._clock.utc(),
            mono_s=mono_s,
            machine_id=self._machine_id,
            gpu_index=reading.index,
            other_utilization_ratio=other_ratio,
            unknown=reading.unknown | unknown | ({"other_utilization_ratio": reason} if reason else {}),
            **memory,
            **reading.values,
        )


NOT_SEEN = "none of the run's processes is visible on this GPU"


def _memory_by_owner(reading: GpuReading, pids: set[int]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return memory of the run's and of other processes by field name of `GpuSample`, and reasons for unknowns."""
    names = ("process_memory_bytes", "other_memory_bytes")
    if reason := _unknown_owner_reason(reading, pids):
        return {}, dict.fromkeys(names, reason)
    assert reading.processes is not None
    by_owner: dict[str, Any] = {}
    for name, is_own in zip(names, (True, False), strict=True):
        sizes = [size for pid, size in reading.processes.items() if (pid in pids) is is_own]
        known_sizes = [size for size in sizes if size is not None]
        if len(known_sizes) == len(sizes):
            by_owner[name] = sum(known_sizes)
    return by_owner, {name: "the driver does not report it by process" for name in names if name not in by_owner}


def _unknown_owner_reason(reading: GpuReading, pids: set[int]) -> str | None:
    """Return why the run's processes cannot be told apart; a driver may list the pids of another namespace."""
    if reading.processes is None:
        return reading.processes_unknown or "the driver does not list processes"
    if not pids:
        return "the run's processes are not known"
    return None if pids & reading.processes.keys() else NOT_SEEN


def _other_utilization(reading: GpuReading, pids: set[int]) -> tuple[float | None, str | None]:
    """Return the share of time that other processes' kernels ran, or why it is unknown."""
    if reason := _unknown_owner_reason(reading, pids):
        return None, reason
    if reading.shares is None:
        return None, reading.shares_unknown or "the driver does not report it by process"
    return min(sum(share for pid, share in reading.shares.items() if pid not in pids), 1.0), None
