"""How a process ended, in words."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from engines.access_log import is_look
from launcher.processes.process import ProcessExit
from machine.regular_file import NotRegularError, opened
from redaction import mask_text

TAIL_LINES = 40
TAIL_BYTES = 64 * 1024
SIGNAL_WORDS = {
    signal.SIGKILL: "was killed by the kernel or by hand (SIGKILL), perhaps out of memory",
    signal.SIGSEGV: "crashed (SIGSEGV, a memory fault)",
    signal.SIGABRT: "aborted itself (SIGABRT)",
    signal.SIGBUS: "crashed (SIGBUS, a memory fault)",
    signal.SIGILL: "crashed (SIGILL: built for another CPU?)",
    signal.SIGTERM: "was asked to end (SIGTERM), not by Pitwall",
    signal.SIGINT: "was interrupted (SIGINT), not by Pitwall",
}


def describe_exit(end: ProcessExit, who: str = "The server") -> str:
    """One sentence: 'The server exited with code 1.'"""
    if end.exit_code is not None:
        wrapped = _signal_name(end.exit_code - 128)  # what shells and container tools make of a signal
        return f"{who} exited with code {end.exit_code}{f' (128 + {wrapped})' if wrapped else ''}."
    if end.signal is not None:
        words = SIGNAL_WORDS.get(signal.Signals(end.signal)) if _signal_name(end.signal) else None
        return f"{who} {words or f'was ended by signal {_signal_name(end.signal) or end.signal}'}."
    if end.cause and end.cause.startswith("exit code unknown"):
        return f"{who} ended; {end.cause}."
    return end.cause or f"{who} ended."


def _signal_name(number: int) -> str | None:
    return next((known.name for known in signal.Signals if known == number), None)


def log_tail(path: Path, secrets: Iterable[str] = ()) -> list[str]:
    """The last 40 lines of a log but those of our own looks at the server, secrets masked; empty when there is none."""
    try:
        with opened(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            lines = file.read(TAIL_BYTES).decode(errors="replace").splitlines()
    except (FileNotFoundError, NotRegularError):
        return []
    last = deque((line for line in lines if not is_look(line)), TAIL_LINES)
    return [mask_text(line, secrets) for line in last]
