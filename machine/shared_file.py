"""A small file that several processes of one user change: alone while they do, and known to have changed."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from machine.private_files import FILE_MODE, private_folder

Signature = tuple[int, int, int]


def signature(path: Path) -> Signature | None:
    """What differs once the file was written anew; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """No other process that asks here changes the file meanwhile; raises OSError."""
    private_folder(path.parent)
    handle = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, FILE_MODE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
