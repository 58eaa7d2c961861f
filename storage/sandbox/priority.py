"""A statement's place in line for the processor: second while it is short, last once it is long.

Last from the first instruction would starve every statement on a machine whose cores are all busy serving: it gets
less than a hundredth of a core there, and needs a few tenths of a second to come up.
"""

from __future__ import annotations

import os
import threading
import time

SECOND, LAST = 5, 19  # niceness
SHORT_S = 1.0  # of processor time, coming up included
LOOK_S = 0.05


def come_second() -> None:
    """Let the servers that are measured go first."""
    os.nice(SECOND)


def come_last_when_long(begun_s: float = 0.0) -> None:
    """Put this thread last once the process has used its short time, from this processor time on.

    Niceness belongs to a thread on Linux (setpriority(2)), and a thread of Python's runs while DuckDB computes.
    """
    busy = threading.get_native_id()

    def watch() -> None:
        while time.process_time() - begun_s < SHORT_S:
            time.sleep(LOOK_S)
        os.setpriority(os.PRIO_PROCESS, busy, LAST)

    threading.Thread(target=watch, name="priority", daemon=True).start()
