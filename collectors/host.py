"""CPU and memory of a run's process tree, and of the machine it shares with others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import psutil

from collectors.base import Clock, Collector, Unavailable
from collectors.processes import ProcessTable
from domain import Run
from samples import Batch, HostSample


class _Tree(NamedTuple):
    processes: int
    rss_bytes: int
    threads: int


@dataclass(slots=True)
class _Counted:
    """What the last tick saw, for the next one's rates."""

    # By process. One that has ended between two ticks counts with the last value seen: the tree's sum never falls.
    cpu_seconds: dict[psutil.Process, float] = field(default_factory=dict)
    tree: tuple[float, float] | None = None  # (CPU seconds, monotonic seconds)
    machine: tuple[float, float] | None = None  # (idle, all) CPU seconds

    def cpu_ratio(self, total_s: float, mono_s: float) -> float | None:
        """Cores in use since the last tick; None on the first."""
        before, self.tree = self.tree, (total_s, mono_s)
        return None if before is None or mono_s <= before[1] else (total_s - before[0]) / (mono_s - before[1])

    def machine_cpu_ratio(self) -> float | None:
        """Share of all cores in use since the last tick; None on the first."""
        times = psutil.cpu_times()
        idle = times.idle + getattr(times, "iowait", 0.0)
        everything = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
        before, self.machine = self.machine, (idle, everything)
        if before is None or everything <= before[1]:
            return None
        busy_ratio: float = 1.0 - (idle - before[0]) / (everything - before[1])
        return min(max(busy_ratio, 0.0), 1.0)


class HostCollector(Collector):
    """psutil over the process tree of each run on this machine."""

    name = "host"

    def __init__(
        self, machine_id: str, table: ProcessTable | None = None, clock: Clock | None = None, period_s: float = 1.0
    ) -> None:
        self.period_s = period_s
        self._machine_id = machine_id
        self._table = table or ProcessTable()
        self._clock = clock or Clock()
        self._counted: dict[str, _Counted] = {}

    def collect(self, run: Run) -> Iterable[Batch]:
        """One sample; none before the server has a process and after it has ended.

        Raises Unavailable for a server elsewhere, one without a known process, or one that may not be looked at.
        """
        if run.machine_id != self._machine_id:
            raise Unavailable("the server runs on another machine: its CPU and memory are not seen from here")
        if run.pid is None and run.kind == "attached":
            raise Unavailable("the server's process is not known: its CPU and memory are not measured")
        mono_s = self._clock.mono_s()
        tree = self._table.tree(run.pid, run.pid_birth_s, mono_s) if run.pid is not None else []
        sample = self._sample(run, tree, mono_s) if tree else None
        return [Batch((sample,))] if sample and sample.process_count else []

    def forget(self, run_id: str) -> None:
        self._counted.pop(run_id, None)

    def _sample(self, run: Run, processes: list[psutil.Process], mono_s: float) -> HostSample:
        counted = self._counted.setdefault(run.id, _Counted())
        tree = _look_at(processes, counted.cpu_seconds)
        total_s = sum(counted.cpu_seconds.values())
        memory = psutil.virtual_memory()
        return HostSample(
            run_id=run.id,
            ts=self._clock.utc(),
            mono_s=mono_s,
            machine_id=self._machine_id,
            process_count=tree.processes,
            cpu_seconds_total=total_s,
            cpu_ratio=counted.cpu_ratio(total_s, mono_s),
            rss_bytes=tree.rss_bytes,
            threads=tree.threads,
            host_cpu_ratio=counted.machine_cpu_ratio(),
            host_cores=psutil.cpu_count(),
            host_memory_used_bytes=memory.total - memory.available,
            host_memory_total_bytes=memory.total,
        )


def _look_at(processes: list[psutil.Process], cpu_seconds: dict[psutil.Process, float]) -> _Tree:
    """Sums over the tree; raises Unavailable when none of its processes may be looked at."""
    count = rss_bytes = threads = 0
    for process in processes:
        try:
            with process.oneshot():
                times = process.cpu_times()
                ended = process.status() == psutil.STATUS_ZOMBIE
                rss_bytes += process.memory_info().rss
                threads += 0 if ended else process.num_threads()
        except psutil.NoSuchProcess:
            continue
        except psutil.AccessDenied:
            raise Unavailable(f"process {process.pid} belongs to another user: it may not be looked at") from None
        count += not ended
        cpu_seconds[process] = times.user + times.system
    return _Tree(count, rss_bytes, threads)
