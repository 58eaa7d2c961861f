"""`python -m storage.sandbox.lake`: answers one statement over the lake, in two processes that end together.

The one that answers has no network but loopback ports; the other, which runs nothing of the statement, leads these to
the catalogue and the store of files, whose addresses it gets before the statement is read.
"""

from __future__ import annotations

import os
import signal
import socket

from storage.sandbox.lake.forwarder import forward
from storage.sandbox.lake.network import can_isolate, end_with, isolate
from storage.sandbox.priority import come_second


def main() -> None:
    """Fork: the child answers, isolated where the system allows that; this process forwards its ports until its end."""
    come_second()
    is_apart = can_isolate()
    inside, outside = socket.socketpair()
    forwarder = os.getpid()
    child = os.fork()  # before DuckDB and Arrow, which start threads
    if child == 0:
        outside.close()
        end_with(forwarder)
        is_apart = is_apart and isolate()
        from storage.sandbox.lake.answering import answer_stdin

        answer_stdin(inside, is_apart)
        return
    inside.close()
    forward(outside)
    _end_like(os.waitpid(child, 0)[1])


def _end_like(status: int) -> None:
    """End as the answering process did, so that our parent learns how it ended."""
    if os.WIFSIGNALED(status):
        ended_by = os.WTERMSIG(status)
        if ended_by != signal.SIGKILL:
            signal.signal(ended_by, signal.SIG_DFL)
        os.kill(os.getpid(), ended_by)
    os._exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
