"""How long a thread was kept from the CPU, as the kernel's scheduler counts it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SCHEDSTAT = "/proc/thread-self/schedstat"  # ns on a CPU, ns ready to run and waiting for one, time slices


@contextmanager
def cpu_wait(path: str = SCHEDSTAT) -> Iterator[Callable[[], float | None]]:
    """What gives the seconds that this thread has waited for a CPU so far; None where the kernel does not."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        yield lambda: None
        return
    try:
        yield lambda: int(os.pread(file, 128, 0).split()[1]) / 1e9
    finally:
        os.close(file)
