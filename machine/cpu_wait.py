"""Time that a thread waited for a CPU, from the kernel's scheduler statistics."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SCHEDSTAT = "/proc/thread-self/schedstat"  # ns on a CPU, ns runnable but waiting for one, number of time slices


@contextmanager
def cpu_wait(path: str = SCHEDSTAT) -> Iterator[Callable[[], float | None]]:
    """Yield a function that returns this thread's CPU wait so far in seconds; None if the kernel does not count it."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        yield lambda: None
        return
    try:
        yield lambda: int(os.pread(file, 128, 0).split()[1]) / 1e9
    finally:
        os.close(file)
