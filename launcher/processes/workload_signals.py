"""Signals to a running load generator; whatever it is sent, it records every request that it has begun."""

from __future__ import annotations

import signal
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

import psutil

from launcher.processes.process import server_process


class Order(StrEnum):
    """What a load generator understands once it has written its progress; earlier it would end by the signal."""

    PAUSE = "pause"
    GO_ON = "go on"
    CANCEL = "cancel"


SIGNALS = {Order.PAUSE: signal.SIGUSR1, Order.GO_ON: signal.SIGUSR2, Order.CANCEL: signal.SIGTERM}


def steer(directory: Path, order: Order) -> bool:
    """Signal the load generator of this directory; False when it is gone."""
    process = server_process(directory)
    with suppress(psutil.NoSuchProcess):
        if process:
            process.send_signal(SIGNALS[order])
            return True
    return False
