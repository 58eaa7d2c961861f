"""Signals to a running load generator, which records every request that it has begun in any case."""

from __future__ import annotations

import signal
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

import psutil

from launcher.processes.process import server_process


class LoadSignal(StrEnum):
    """Signals that a load generator handles once it has written its progress; earlier they would end it."""

    PAUSE = "pause"
    GO_ON = "go on"
    CANCEL = "cancel"


SIGNALS = {LoadSignal.PAUSE: signal.SIGUSR1, LoadSignal.GO_ON: signal.SIGUSR2, LoadSignal.CANCEL: signal.SIGTERM}


def signal_load(directory: Path, load_signal: LoadSignal) -> bool:
    """Signal the load generator of this directory; return False if it is gone."""
    process = server_process(directory)
    with suppress(psutil.NoSuchProcess):
        if process:
            process.send_signal(SIGNALS[load_signal])
            return True
    return False
