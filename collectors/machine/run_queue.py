"""How long the threads of a process tree ran and waited for a CPU, as the kernel's scheduler counts it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from errors import PitwallError

PROC = Path("/proc")
MOST_THREADS = 4096  # what a look at a thread costs: benchmarks/README.md
NO_SCHEDSTAT = "this kernel does not tell how long a thread waits for a CPU: it has no schedstat"
NOT_COUNTED = "this kernel does not count how long a thread waits for a CPU: its schedstat reads 0"
NOT_ALLOWED = "how long the server's threads wait for a CPU may not be read by this user"
SURE_RUN_S = 0.5  # a tree that has used so much CPU has a run time above 0
NS = 1e-9
Thread = tuple[int, int]  # process, thread


class NotMeasurableError(PitwallError):
    """What the kernel does not report, and why."""


class Scheduled(NamedTuple):
    """Seconds on a CPU, and seconds ready to run and waiting for one; cumulative, summed over threads."""

    run_s: float
    wait_s: float


@dataclass(slots=True)
class ThreadTimes:
    """What the threads of one tree were given. A thread that ended counts with the last value seen of it.

    The time of one that began and ended between two looks is not seen.
    """

    proc: Path = PROC
    _living: dict[Thread, tuple[int, int]] = field(default_factory=dict)  # (run, wait) in ns
    _ended: tuple[int, int] = (0, 0)

    def look(self, pids: Iterable[int], cpu_s: float) -> Scheduled:
        """The sums now; `cpu_s` is the CPU time of the same processes. Raises NotMeasurableError."""
        if not (self.proc / "self" / "schedstat").exists():
            raise NotMeasurableError(NO_SCHEDSTAT)
        try:
            seen = dict(self._threads(pids))
        except PermissionError:
            raise NotMeasurableError(NOT_ALLOWED) from None
        self._keep_ended(seen)
        self._living = seen
        run_ns, wait_ns = (sum(times) for times in zip(self._ended, *seen.values(), strict=True))
        if run_ns == 0 and cpu_s > SURE_RUN_S:
            raise NotMeasurableError(NOT_COUNTED)
        return Scheduled(run_ns * NS, wait_ns * NS)

    def _keep_ended(self, seen: dict[Thread, tuple[int, int]]) -> None:
        """A thread whose run time fell is a new one with the number of an old one."""
        over = [was for thread, was in self._living.items() if was[0] > seen.get(thread, (-1, 0))[0]]
        run_ns, wait_ns = (sum(times) for times in zip(self._ended, *over, strict=True))
        self._ended = run_ns, wait_ns

    def _threads(self, pids: Iterable[int]) -> Iterator[tuple[Thread, tuple[int, int]]]:
        count = 0
        for pid in pids:
            names = _names(f"{self.proc}/{pid}/task")
            count += len(names)
            if count > MOST_THREADS:
                raise NotMeasurableError(
                    f"the server has more than {MOST_THREADS:,} threads: their waits are not added up"
                )
            for name in names:
                if times := _times(f"{self.proc}/{pid}/task/{name}/schedstat"):
                    yield (pid, int(name)), times


def _names(folder: str) -> list[str]:
    """The threads of a process; none once it has ended."""
    try:
        with os.scandir(folder) as threads:
            return [thread.name for thread in threads]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _times(path: str) -> tuple[int, int] | None:
    """Run and wait of one thread; None once it has ended. Without Python's file objects, which cost twice as much."""
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
