"""A limit on processor time, against work that grows with the square: on a busy machine it takes no longer."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raises TimeoutError where the block takes more processor time of this process; for the main thread alone."""

    def over(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"It took more than {seconds:g} s of processor time.")

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
