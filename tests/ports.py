"""Ports for servers of tests: of no other test, and none that the kernel gives to a connection meanwhile."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from fcntl import LOCK_EX, LOCK_NB, lockf
from itertools import chain, islice
from pathlib import Path
from random import randrange

from demo.presets import is_free

PORTS = range(12_000, 32_000)  # below those that Linux gives by itself, from 32768 on
TAKEN = Path(tempfile.gettempdir()) / f"pitwall-test-ports-{os.getuid()}"


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that nobody listens on; given once, for a server needs seconds until it listens."""
    return list(islice(_FREE, count))


def _free() -> Iterator[int]:
    """Once around, from anywhere; a port's byte in a file is locked for as long as this process lives."""
    start = randrange(PORTS.start, PORTS.stop)
    with TAKEN.open("ab") as file:
        for port in chain(range(start, PORTS.stop), range(PORTS.start, start)):
            try:
                lockf(file, LOCK_EX | LOCK_NB, 1, port)
            except OSError:  # another process of tests has it
                continue
            if is_free(port):
                yield port


_FREE = _free()
