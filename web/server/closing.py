"""Ends the process in bounded time, even if a thread hangs."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading

CLOSE_WITHIN_S = 5.0
END_SIGNALS = {signal.SIGTERM, signal.SIGINT}
CUT_SHORT = (
    "Pitwall exited before everything was closed. All committed data is safe; the next start continues from there.\n"
)


def exit_soon_after_a_signal(seconds: float = CLOSE_WITHIN_S) -> None:
    """End the process at most this long after the first handled SIGTERM or SIGINT; called by the main thread.

    A signal handler cannot do this: Python runs it only when the main thread is back in Python, and that thread may
    hang in a system call. The wakeup socket gets the signal's number at once.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.detach(), warn_on_full_buffer=False)
    threading.Thread(target=_await_signal, args=(reader, seconds), name="end", daemon=True).start()


def _await_signal(reader: socket.socket, seconds: float) -> None:
    while number := reader.recv(1):
        if number[0] in END_SIGNALS:
            exit_within(seconds)
            return


def exit_within(seconds: float) -> None:
    """End the process after this time unless it has ended by itself: a disk that hangs would keep it alive forever.

    This loses no more than kill -9 does, so no committed data.
    """
    timer = threading.Timer(seconds, _exit)
    timer.daemon = True
    timer.start()


def _exit() -> None:
    sys.stderr.write(CUT_SHORT)
    sys.stderr.flush()
    os._exit(1)
