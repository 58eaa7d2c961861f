"""The end of the process, whatever keeps its threads."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading

CLOSE_WITHIN_S = 5.0
ENDING = {signal.SIGTERM, signal.SIGINT}
CUT_SHORT = (
    "Pitwall ended before everything was closed. What was committed is safe; the next start goes on from there.\n"
)


def exit_soon_after_a_signal(seconds: float = CLOSE_WITHIN_S) -> None:
    """From the first SIGTERM or SIGINT that something handles, the process has this long; called by the main thread.

    A handler is no place for it: Python calls one when the main thread is next in Python, and it may wait in a system
    call on a disk that hangs. The number of the signal is written to a socket at once.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.detach(), warn_on_full_buffer=False)
    threading.Thread(target=_await_signal, args=(reader, seconds), name="end", daemon=True).start()


def _await_signal(reader: socket.socket, seconds: float) -> None:
    while number := reader.recv(1):
        if number[0] in ENDING:
            exit_within(seconds)
            return


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
