"""Locking and change detection for a small file that several processes of one user write."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from machine.private_files import FILE_MODE, private_folder

Signature = tuple[int, int, int]


def signature(path: Path) -> Signature | None:
    """Return a value that changes whenever the file is replaced; None without a file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold the file's lock, which every process that changes the file takes; raises OSError."""
    private_folder(path.parent)
    handle = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, FILE_MODE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
