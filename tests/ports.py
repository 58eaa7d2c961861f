"""Ports for servers of tests: of no other test, and none that the kernel gives to a connection meanwhile."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from random import randrange

FIRST, EACH = 12_000, 4_000  # below the ports that Linux gives by itself, from 32768 on
WORKERS = 5


def _ports_of_this_worker() -> Iterator[int]:
    """Its own range once around, from anywhere: two runs of the tests at once meet seldom."""
    first = FIRST + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % WORKERS * EACH
    start = randrange(first, first + EACH)
    return chain(range(start, first + EACH), range(first, start))


_PORTS = _ports_of_this_worker()


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that nobody listens on; given once, for a server needs seconds until it listens."""
    return [port for port, _ in zip((port for port in _PORTS if _is_free(port)), range(count), strict=False)]


def _is_free(port: int) -> bool:
    with closing(socket.socket()) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
