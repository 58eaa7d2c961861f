"""Time that the threads of a process tree ran and waited for a CPU, from the kernel's scheduler statistics."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from errors import PitwallError

PROC = Path("/proc")
MAX_THREADS = 4096  # cost per thread: benchmarks/README.md
NO_SCHEDSTAT = "this kernel does not report how long a thread waits for a CPU: it has no schedstat"
NOT_COUNTED = "this kernel does not count how long a thread waits for a CPU: its schedstat reads 0"
NOT_ALLOWED = "this user may not read how long the server's threads wait for a CPU"
SURE_RUN_S = 0.5  # a tree that has used this much CPU has a run time above 0
NS = 1e-9
Thread = tuple[int, int]  # process, thread


class NotMeasurableError(PitwallError):
    """The kernel does not report a value; the message is the reason."""


class SchedulerTimes(NamedTuple):
    """Seconds on a CPU and seconds runnable but waiting for one; cumulative, summed over threads."""

    run_s: float
    wait_s: float


@dataclass(slots=True)
class ThreadTimes:
    """Scheduler times of one process tree. A thread that has ended counts with its last reading.

    A thread that starts and ends between two readings is not counted.
    """

    proc: Path = PROC
    _running: dict[Thread, tuple[int, int]] = field(default_factory=dict)  # (run, wait) in ns
    _ended: tuple[int, int] = (0, 0)

    def read(self, pids: Iterable[int], cpu_s: float) -> SchedulerTimes:
        """Return the current sums; `cpu_s` is the CPU time of the same processes. Raises NotMeasurableError."""
        if not (self.proc / "self" / "schedstat").exists():
            raise NotMeasurableError(NO_SCHEDSTAT)
        try:
            current = dict(self._threads(pids))
        except PermissionError:
            raise NotMeasurableError(NOT_ALLOWED) from None
        self._add_ended(current)
        self._running = current
        run_ns, wait_ns = (sum(times) for times in zip(self._ended, *current.values(), strict=True))
        if run_ns == 0 and cpu_s > SURE_RUN_S:
            raise NotMeasurableError(NOT_COUNTED)
        return SchedulerTimes(run_ns * NS, wait_ns * NS)

    def _add_ended(self, current: dict[Thread, tuple[int, int]]) -> None:
        """Add the times of ended threads; one whose run time fell is a new thread with a reused id."""
        ended = [
            previous for thread, previous in self._running.items() if previous[0] > current.get(thread, (-1, 0))[0]
        ]
        run_ns, wait_ns = (sum(times) for times in zip(self._ended, *ended, strict=True))
        self._ended = run_ns, wait_ns

    def _threads(self, pids: Iterable[int]) -> Iterator[tuple[Thread, tuple[int, int]]]:
        count = 0
        for pid in pids:
            names = _thread_names(f"{self.proc}/{pid}/task")
            count += len(names)
            if count > MAX_THREADS:
                raise NotMeasurableError(
                    f"the server has more than {MAX_THREADS:,} threads: their waits are not summed"
                )
            for name in names:
                if times := _thread_times(f"{self.proc}/{pid}/task/{name}/schedstat"):
                    yield (pid, int(name)), times


def _thread_names(folder: str) -> list[str]:
    """Return the thread ids of a process; empty once it has ended."""
    try:
        with os.scandir(folder) as threads:
            return [thread.name for thread in threads]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _thread_times(path: str) -> tuple[int, int] | None:
    """Return run and wait of one thread in ns; None once it has ended. Python file objects would cost twice as much."""
    try:
        file = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, ProcessLookupError):
        return None
    try:
        run_ns, wait_ns, _ = os.read(file, 128).split()
    except (ProcessLookupError, ValueError):  # it ended in between
        return None
    finally:
        os.close(file)
    return int(run_ns), int(wait_ns)
