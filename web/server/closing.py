"""The end of the process, whatever keeps its threads."""

from __future__ import annotations

import os
import sys
import threading

CUT_SHORT = (
    "Pitwall ended before everything was closed. What was committed is safe; the next start goes on from there.\n"
)


def exit_within(seconds: float) -> None:
    """End the process after this time if it has not ended by itself: a disk that hangs would keep it for ever.

    Nothing is lost by it that kill -9 would not lose, and that is nothing that was committed.
    """
    timer = threading.Timer(seconds, _exit)
    timer.daemon = True
    timer.start()


def _exit() -> None:
    sys.stderr.write(CUT_SHORT)
    sys.stderr.flush()
    os._exit(1)
