"""`python -m storage.sandbox.lake`: runs one statement on the lake, in two processes that end together.

The process with the statement can only reach loopback ports. The other process, which never sees the statement,
forwards them to the catalogue and the file store, whose addresses it receives before the statement is read.
"""

from __future__ import annotations

import os
import signal
import socket

from storage.sandbox.lake.forwarder import forward
from storage.sandbox.lake.network import can_isolate, end_with, isolate
from storage.sandbox.priority import lower_priority


def main() -> None:
    """Fork a child for the statement, isolated if the system allows it, and forward its ports until it ends."""
    lower_priority()
    is_isolated = can_isolate()
    inside, outside = socket.socketpair()
    forwarder = os.getpid()
    child = os.fork()  # before DuckDB and Arrow, which start threads
    if child == 0:
        outside.close()
        end_with(forwarder)
        is_isolated = is_isolated and isolate()
        from storage.sandbox.lake.answering import answer_stdin

        answer_stdin(inside, is_isolated)
        return
    inside.close()
    forward(outside)
    _end_like(os.waitpid(child, 0)[1])


def _end_like(status: int) -> None:
    """End with the child's exit status or signal, so that the parent sees it."""
    if os.WIFSIGNALED(status):
        signal_number = os.WTERMSIG(status)
        if signal_number != signal.SIGKILL:
            signal.signal(signal_number, signal.SIG_DFL)
        os.kill(os.getpid(), signal_number)
    os._exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
