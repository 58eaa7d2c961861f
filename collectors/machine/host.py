"""CPU and memory of a run's process tree and of the whole machine."""

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


class _TreeTotals(NamedTuple):
    processes: int
    rss_bytes: int
    threads: int


class _MachineTimes(NamedTuple):
    """Seconds of all cores together since the boot."""

    all_s: float
    idle_s: float
    steal_s: float

    def fields(self) -> dict[str, Any]:
        """Return the times by field name of `HostSample`."""
        return {
            "host_cpu_seconds_total": self.all_s,
            "host_busy_seconds_total": max(self.all_s - self.idle_s - self.steal_s, 0.0),
            "host_steal_seconds_total": self.steal_s,
        }


@dataclass(slots=True)
class _PreviousCounts:
    """Counts of the last tick, from which the next one computes rates."""

    # A process that ended between two ticks keeps its last value, so that the tree's sum never falls.
    cpu_seconds: dict[psutil.Process, float] = field(default_factory=dict)
    tree: tuple[float, float] | None = None  # (CPU seconds, monotonic seconds)
    machine: _MachineTimes | None = None
    threads: ThreadTimes = field(default_factory=ThreadTimes)
    groups: GroupTimes = field(default_factory=GroupTimes)

    def cpu_ratio(self, total_s: float, mono_s: float) -> float | None:
        """Return the mean number of cores in use since the last tick; None on the first."""
        previous, self.tree = self.tree, (total_s, mono_s)
        return None if previous is None or mono_s <= previous[1] else (total_s - previous[0]) / (mono_s - previous[1])

    def machine_cpu_ratio(self, now: _MachineTimes) -> float | None:
        """Return the share of all cores in use since the last tick; None on the first."""
        previous, self.machine = self.machine, now
        if previous is None or now.all_s <= previous.all_s:
            return None
        busy_ratio: float = 1.0 - (now.idle_s - previous.idle_s) / (now.all_s - previous.all_s)
        return min(max(busy_ratio, 0.0), 1.0)


class HostCollector(Collector):
    """Measures the process tree of each run on this machine with psutil."""

    name = "host"

    def __init__(
        self, machine_id: str, table: ProcessTable | None = None, clock: Clock | None = None, period_s: float = 1.0
    ) -> None:
        self.period_s = period_s
        self._machine_id = machine_id
        self._table = table or ProcessTable()
        self._clock = clock or Clock()
        self._previous_counts: dict[str, _PreviousCounts] = {}

    def collect(self, run: Run) -> Iterator[Batch]:
        """Yield one sample; none before the server has a process and after it has ended.

        Raises UnavailableError for a server on another machine, one without a known process, or one of another user;
        IncompleteError, after the sample, if the kernel does not report how long its threads wait.
        """
        if run.machine_id != self._machine_id:
            raise UnavailableError("the server runs on another machine: its CPU and memory are not visible here")
        if run.pid is None and run.kind == "attached":
            raise UnavailableError("the server's process is not known: its CPU and memory are not measured")
        mono_s = self._clock.mono_s()
        tree = self._table.tree(run.pid, run.pid_birth_s, mono_s) if run.pid is not None else []
        sample = self._sample(run, tree, mono_s) if tree else None
        if sample and sample.process_count:
            yield Batch((sample,))
            if reason := sample.unknown.get("runnable_wait_seconds_total"):
                raise IncompleteError(reason)

    def machine_alone(self, run: Run) -> HostSample:
        """Return a sample of the whole machine alone, when no process of the run is known."""
        return self._sample(run, [], self._clock.mono_s())

    def forget(self, run_id: str) -> None:
        """Drop the counts of the last tick; this run's rates restart with its second tick."""
        self._previous_counts.pop(run_id, None)

    def _sample(self, run: Run, processes: list[psutil.Process], mono_s: float) -> HostSample:
        counts = self._previous_counts.setdefault(run.id, _PreviousCounts())
        tree = _measure_tree(processes, counts.cpu_seconds)
        total_s = sum(counts.cpu_seconds.values())
        memory, machine = psutil.virtual_memory(), _machine_times()
        kernel_values, unknown = _kernel_values(counts, [process.pid for process in processes], total_s)
        tree_values = {
            "process_count": tree.processes,
            "cpu_seconds_total": total_s,
            "cpu_ratio": counts.cpu_ratio(total_s, mono_s),
            "rss_bytes": tree.rss_bytes,
            "threads": tree.threads,
            **kernel_values,
        }
        if not processes:
            tree_values, unknown = {}, dict.fromkeys((*tree_values, *unknown), NO_PROCESS)
        return HostSample(
            run_id=run.id,
            ts=self._clock.utc(),
            mono_s=mono_s,
            machine_id=self._machine_id,
            host_cpu_ratio=counts.machine_cpu_ratio(machine),
            host_cores=psutil.cpu_count(),
            host_memory_used_bytes=memory.total - memory.available,
            host_memory_total_bytes=memory.total,
            **machine.fields(),
            **tree_values,
            unknown=unknown,
        )


def _machine_times() -> _MachineTimes:
    times = psutil.cpu_times()
    guests = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)  # also included in user time
    return _MachineTimes(
        all_s=sum(times) - guests,
        idle_s=times.idle + getattr(times, "iowait", 0.0),
        steal_s=getattr(times, "steal", 0.0),
    )


def _kernel_values(counts: _PreviousCounts, pids: list[int], cpu_s: float) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the tree's run, wait and throttled times by field name of `HostSample`, and reasons for unknowns."""
    measured: dict[str, Any] = {}
    unknown: dict[str, str] = {}
    for read, names in (
        (lambda: counts.threads.read(pids, cpu_s), ("scheduled_seconds_total", "runnable_wait_seconds_total")),
        (lambda: counts.groups.read(pids), ("throttled_seconds_total", "throttled_periods_total")),
    ):
        try:
            measured |= zip(names, read(), strict=True)
        except NotMeasurableError as refusal:
            unknown |= dict.fromkeys(names, str(refusal))
    return measured, unknown


def _measure_tree(processes: list[psutil.Process], cpu_seconds: dict[psutil.Process, float]) -> _TreeTotals:
    """Return sums over the tree; raises UnavailableError if a process belongs to another user."""
    count = rss_bytes = threads = 0
    for process in processes:
        try:
            with process.oneshot():
                times = process.cpu_times()
                has_ended = process.status() == psutil.STATUS_ZOMBIE
                rss_bytes += process.memory_info().rss
                threads += 0 if has_ended else process.num_threads()
        except psutil.NoSuchProcess:
            continue
        except psutil.AccessDenied:
            raise UnavailableError(f"process {process.pid} belongs to another user: it cannot be measured") from None
        count += not has_ended
        cpu_seconds[process] = times.user + times.system
    return _TreeTotals(count, rss_bytes, threads)
