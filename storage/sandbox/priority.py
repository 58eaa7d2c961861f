"""CPU priority of a statement: low at first, lowest once it runs long.

The lowest priority from the start would starve every statement on a machine whose cores are all busy serving: it gets
less than a hundredth of a core there, and needs a few tenths of a second to start.
"""

from __future__ import annotations

import os
import threading
import time

SECOND, LAST = 5, 19  # niceness
SHORT_S = 1.0  # CPU time, including the start
POLL_S = 0.05


def lower_priority() -> None:
    """Give measured servers priority over this process."""
    os.nice(SECOND)


def yield_when_long(started_s: float = 0.0) -> None:
    """Give this thread the lowest priority after SHORT_S of CPU time since `started_s`.

    On Linux niceness applies per thread (setpriority(2)), and a Python thread runs while DuckDB computes.
    """
    thread_id = threading.get_native_id()

    def watch() -> None:
        while time.process_time() - started_s < SHORT_S:
            time.sleep(POLL_S)
        os.setpriority(os.PRIO_PROCESS, thread_id, LAST)

    threading.Thread(target=watch, name="priority", daemon=True).start()
