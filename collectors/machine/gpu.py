"""Samples of this machine's GPUs once a second, from whichever source gives the readings."""

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
    """One GPU's values under the names of `GpuSample`, and what it uses memory for, by process."""

    index: int
    values: dict[str, Any] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    processes: dict[int, int | None] | None = None  # pid -> bytes, None where the driver does not say
    processes_unknown: str | None = None
    shares: dict[int, float] | None = None  # pid -> share of the last moments that its kernels ran; none: it ran none
    shares_unknown: str | None = None

    def put(self, name: str, value: Any, why: str | None, scale: Callable[[Any], Any]) -> None:
        """A value in the sample's unit, or the reason why it is unknown."""
        if value is None:
            self.unknown[name] = why or "the driver gave nothing"
        else:
            self.values[name] = scale(value)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The driver and its GPUs, each with its identity and what it does not report."""

    driver_version: str | None
    cuda_version: str | None
    gpus: list[dict[str, Any]]


class Provider(Protocol):
    """Where readings come from: NVML, or a recording in tests."""

    def probe(self) -> Capabilities:
        """What there is; raises UnavailableError where there is nothing."""
        ...

    def sample(self) -> list[GpuReading]:
        """One reading per GPU; raises UnavailableError or OutageError."""
        ...

    def close(self) -> None:
        """Let go of the driver, if there was one."""
        ...


class GpuCollector(Collector):
    """The GPUs of each run: those its processes use, else those its config names, else all of the machine."""

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
        self._used: dict[str, set[int]] = {}

    def collect(self, run: Run) -> Iterable[Batch]:
        """A sample per GPU of the run; raises UnavailableError without a driver, OutageError when it is lost."""
        if run.machine_id != self._machine_id:
            raise UnavailableError("the server runs on another machine: its GPUs are not seen from here")
        mono_s, readings = self._readings()
        pids = self._pids(run, mono_s)
        chosen = self._of_run(run, readings, pids)
        return [Batch(tuple(self._sample(run, reading, pids, mono_s) for reading in chosen))]

    def forget(self, run_id: str) -> None:
        """Forget on which GPUs the processes of this run were seen."""
        self._used.pop(run_id, None)

    def _readings(self) -> tuple[float, Sequence[GpuReading]]:
        """All runs of one tick share one look at the driver."""
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

    def _of_run(self, run: Run, readings: Sequence[GpuReading], pids: set[int]) -> Sequence[GpuReading]:
        used = self._used.setdefault(run.id, set())
        used |= {reading.index for reading in readings if reading.processes and pids & reading.processes.keys()}
        stated = stated_gpus(run.config)
        named = [r for r in readings if str(r.index) in stated or r.values.get("gpu_uuid") in stated]
        return [r for r in readings if r.index in used] or named or readings

    def _sample(self, run: Run, reading: GpuReading, pids: set[int], mono_s: float) -> GpuSample:
        own, unknown = _memory_by_owner(reading, pids)
        others_ratio, why = _others_share(reading, pids)
        return GpuSample(
            run_id=run.id,
            ts=self._clock.utc(),
            mono_s=mono_s,
            machine_id=self._machine_id,
            gpu_index=reading.index,
            other_utilization_ratio=others_ratio,
            unknown=reading.unknown | unknown | ({"other_utilization_ratio": why} if why else {}),
            **own,
            **reading.values,
        )


NOT_SEEN = "none of the run's processes is seen on this GPU"


def _memory_by_owner(reading: GpuReading, pids: set[int]) -> tuple[dict[str, Any], dict[str, str]]:
    """What the run's processes and all others hold on this GPU under the names of `GpuSample`; and why not, by name."""
    names = ("process_memory_bytes", "other_memory_bytes")
    if why := _owners_unknown(reading, pids):
        return {}, dict.fromkeys(names, why)
    assert reading.processes is not None
    by_owner: dict[str, Any] = {}
    for name, is_own in zip(names, (True, False), strict=True):
        held = [size for pid, size in reading.processes.items() if (pid in pids) is is_own]
        known = [size for size in held if size is not None]
        if len(known) == len(held):
            by_owner[name] = sum(known)
    return by_owner, {name: "the driver does not tell it by process" for name in names if name not in by_owner}


def _owners_unknown(reading: GpuReading, pids: set[int]) -> str | None:
    """Why the run's processes are not known from others; a driver may list the process numbers of another namespace."""
    if reading.processes is None:
        return reading.processes_unknown or "the driver does not list processes"
    if not pids:
        return "the run's processes are not known"
    return None if pids & reading.processes.keys() else NOT_SEEN


def _others_share(reading: GpuReading, pids: set[int]) -> tuple[float | None, str | None]:
    """Share of time that other processes' kernels ran, or why that is not known."""
    if why := _owners_unknown(reading, pids):
        return None, why
    if reading.shares is None:
        return None, reading.shares_unknown or "the driver does not tell it by process"
    return min(sum(share for pid, share in reading.shares.items() if pid not in pids), 1.0), None
