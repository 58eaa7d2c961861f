"""Ends processes that a run started: SIGTERM, then SIGKILL. Used by the shim and by Pitwall."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

import psutil

from launcher.processes.descendants import name_of

POLL_S = 0.05
SETTLE_S = 1.0  # for processes that end by themselves after the server
TERM_GRACE_S = 5.0
LIMIT_S = 20.0  # a process in uninterruptible sleep cannot be killed


class EndedProcess(NamedTuple):
    """One process that had to be ended, and the last signal that it was sent."""

    pid: int
    name: str
    signal: str

    def __str__(self) -> str:
        return f"{self.name} (pid {self.pid}, {self.signal})"


def end_processes(
    find: Callable[[], Iterable[psutil.Process]], settle_s: float = SETTLE_S, term_grace_s: float = TERM_GRACE_S
) -> list[EndedProcess]:
    """End all processes that `find` returns, repeatedly, since a fork may escape one search; return those signalled.

    Processes alive after `settle_s` get SIGTERM, those alive `term_grace_s` later SIGKILL.
    """
    ended: dict[psutil.Process, EndedProcess] = {}
    began = time.monotonic()
    while (living := list(find())) and (passed_s := time.monotonic() - began) < LIMIT_S:
        if passed_s >= settle_s:
            number = signal.SIGKILL if passed_s >= settle_s + term_grace_s else signal.SIGTERM
            ended.update(
                {process: signalled for process in living if (signalled := _send(process, number, ended.get(process)))}
            )
        time.sleep(POLL_S)
    return list(ended.values())


def _send(process: psutil.Process, number: signal.Signals, previous: EndedProcess | None) -> EndedProcess | None:
    """Send SIGTERM once, SIGKILL each time; None if the process was already gone."""
    if previous and number is signal.SIGTERM:
        return previous
    ended = EndedProcess(process.pid, previous.name if previous else name_of(process), number.name)
    return ended if send_signal(process, number) else previous


def send_signal(process: psutil.Process, number: signal.Signals) -> bool:
    """Signal the process if its start time is unchanged, so that a reused pid is not hit."""
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        process.send_signal(number)  # psutil compares the start time first
        return True
    return False


def signal_server(server: psutil.Process, number: signal.Signals) -> None:
    """Signal a server with its process group, if it leads one, as a terminal would."""
    with suppress(psutil.NoSuchProcess, ProcessLookupError, PermissionError):
        if server.is_running() and os.getpgid(server.pid) == server.pid:
            os.killpg(server.pid, number)
        else:
            send_signal(server, number)
