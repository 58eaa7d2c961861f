"""Files that others write, opened so that nothing but a regular file is ever read.

open() of a FIFO waits for a writer for ever, a device has no end, and a name in somebody's folder may lead anywhere
tomorrow. So a name is resolved once, when it is given (`pinned`), and from then on no link is followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from errors import PitwallError

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe (FIFO)",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a symbolic link",
}


class NotRegularError(PitwallError):
    """What the path names is no regular file; the message is 'PATH is a device, not a regular file'."""


def pinned(path: Path) -> Path:
    """The path with its links resolved now: what it is opened by from here on."""
    return path.resolve()


def open_descriptor(path: Path) -> int:
    """A descriptor to read from, never waited for; raises NotRegularError, or OSError as open() does."""
    _check(path, os.lstat(path))
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        _check(path, os.fstat(descriptor))  # it may have been swapped between the look and the opening
    except NotRegularError:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file to read from; raises as `open_descriptor` does."""
    with open(open_descriptor(path), "rb") as file:  # a descriptor, not a path
        yield file


def _check(path: Path, found: os.stat_result) -> None:
    kind = KINDS.get(stat.S_IFMT(found.st_mode))
    if kind:
        raise NotRegularError(f"{path} is {kind}, not a regular file")
