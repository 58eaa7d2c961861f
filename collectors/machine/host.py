"""CPU and memory of a run's process tree, and of the machine it shares with others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import psutil

from collectors.base import Clock, Collector, IncompleteError, UnavailableError
from collectors.machine.cpu_limit import GroupTimes
from collectors.machine.processes import ProcessTable
from collectors.machine.run_queue import NotMeasurableError, ThreadTimes
from domain import Run
from samples import Batch, HostSample

NO_PROCESS = "no process of the run is known on this machine"


class _Tree(NamedTuple):
    processes: int
    rss_bytes: int
    threads: int


class _MachineTimes(NamedTuple):
    """Seconds of all cores together since the boot."""

    all_s: float
    idle_s: float
    steal_s: float

    def fields(self) -> dict[str, Any]:
        """Under the names of `HostSample`."""
        return {
            "host_cpu_seconds_total": self.all_s,
            "host_busy_seconds_total": max(self.all_s - self.idle_s - self.steal_s, 0.0),
            "host_steal_seconds_total": self.steal_s,
        }


@dataclass(slots=True)
class _Counted:
    """What the last tick saw, for the next one's rates."""

    # By process. One that has ended between two ticks counts with the last value seen: the tree's sum never falls.
    cpu_seconds: dict[psutil.Process, float] = field(default_factory=dict)
    tree: tuple[float, float] | None = None  # (CPU seconds, monotonic seconds)
    machine: _MachineTimes | None = None
    threads: ThreadTimes = field(default_factory=ThreadTimes)
    groups: GroupTimes = field(default_factory=GroupTimes)

    def cpu_ratio(self, total_s: float, mono_s: float) -> float | None:
        """Cores in use since the last tick; None on the first."""
        before, self.tree = self.tree, (total_s, mono_s)
        return None if before is None or mono_s <= before[1] else (total_s - before[0]) / (mono_s - before[1])

    def machine_cpu_ratio(self, now: _MachineTimes) -> float | None:
        """Share of all cores in use since the last tick; None on the first."""
        before, self.machine = self.machine, now
        if before is None or now.all_s <= before.all_s:
            return None
        busy_ratio: float = 1.0 - (now.idle_s - before.idle_s) / (now.all_s - before.all_s)
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

    def collect(self, run: Run) -> Iterator[Batch]:
        """One sample; none before the server has a process and after it has ended.

        Raises UnavailableError for a server elsewhere, one without a known process, or one that may not be looked at;
        IncompleteError, behind the sample, where the kernel does not say how long its threads wait.
        """
        if run.machine_id != self._machine_id:
            raise UnavailableError("the server runs on another machine: its CPU and memory are not seen from here")
        if run.pid is None and run.kind == "attached":
            raise UnavailableError("the server's process is not known: its CPU and memory are not measured")
        mono_s = self._clock.mono_s()
        tree = self._table.tree(run.pid, run.pid_birth_s, mono_s) if run.pid is not None else []
        sample = self._sample(run, tree, mono_s) if tree else None
        if sample and sample.process_count:
            yield Batch((sample,))
            if why := sample.unknown.get("runnable_wait_seconds_total"):
                raise IncompleteError(why)

    def machine_alone(self, run: Run) -> HostSample:
        """The machine as everybody uses it, where no process of the run is known."""
        return self._sample(run, [], self._clock.mono_s())

    def forget(self, run_id: str) -> None:
        """Drop the counts of the last tick: rates of this run begin anew with its second one."""
        self._counted.pop(run_id, None)

    def _sample(self, run: Run, processes: list[psutil.Process], mono_s: float) -> HostSample:
        counted = self._counted.setdefault(run.id, _Counted())
        tree = _look_at(processes, counted.cpu_seconds)
        total_s = sum(counted.cpu_seconds.values())
        memory, machine = psutil.virtual_memory(), _machine_times()
        measured, unknown = _given_by_kernel(counted, [process.pid for process in processes], total_s)
        own = {
            "process_count": tree.processes,
            "cpu_seconds_total": total_s,
            "cpu_ratio": counted.cpu_ratio(total_s, mono_s),
            "rss_bytes": tree.rss_bytes,
            "threads": tree.threads,
            **measured,
        }
        if not processes:
            own, unknown = {}, dict.fromkeys((*own, *unknown), NO_PROCESS)
        return HostSample(
            run_id=run.id,
            ts=self._clock.utc(),
            mono_s=mono_s,
            machine_id=self._machine_id,
            host_cpu_ratio=counted.machine_cpu_ratio(machine),
            host_cores=psutil.cpu_count(),
            host_memory_used_bytes=memory.total - memory.available,
            host_memory_total_bytes=memory.total,
            **machine.fields(),
            **own,
            unknown=unknown,
        )


def _machine_times() -> _MachineTimes:
    times = psutil.cpu_times()
    guests = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)  # counted as user time too
    return _MachineTimes(
        all_s=sum(times) - guests,
        idle_s=times.idle + getattr(times, "iowait", 0.0),
        steal_s=getattr(times, "steal", 0.0),
    )


def _given_by_kernel(counted: _Counted, pids: list[int], cpu_s: float) -> tuple[dict[str, Any], dict[str, str]]:
    """What the tree ran, waited and was held back, under the names of `HostSample`; and why not, by name."""
    measured: dict[str, Any] = {}
    unknown: dict[str, str] = {}
    for look, names in (
        (lambda: counted.threads.look(pids, cpu_s), ("scheduled_seconds_total", "runnable_wait_seconds_total")),
        (lambda: counted.groups.look(pids), ("throttled_seconds_total", "throttled_periods_total")),
    ):
        try:
            measured |= zip(names, look(), strict=True)
        except NotMeasurableError as refusal:
            unknown |= dict.fromkeys(names, str(refusal))
    return measured, unknown


def _look_at(processes: list[psutil.Process], cpu_seconds: dict[psutil.Process, float]) -> _Tree:
    """Sums over the tree; raises UnavailableError when none of its processes may be looked at."""
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
            raise UnavailableError(f"process {process.pid} belongs to another user: it may not be looked at") from None
        count += not ended
        cpu_seconds[process] = times.user + times.system
    return _Tree(count, rss_bytes, threads)
