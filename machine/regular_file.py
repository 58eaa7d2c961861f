"""Files that others write, opened so that nothing but a regular file is ever read.

open() of a FIFO waits for a writer for ever, a device has no end, and a name in somebody's folder may lead anywhere
tomorrow. So a name is resolved once, when it is given (`pinned`), and from then on no link is followed, of a file or of
a folder on the way to it. Only the way to a folder of our own may lead over links: whoever set it up made them.
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


OWN_FOLDERS: dict[Path, Path] = {}  # as it was named -> where it is

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class NotRegularError(PitwallError):
    """What the path names is no regular file; the message is 'PATH is a device, not a regular file'."""


def pinned(path: Path) -> Path:
    """The path with its links resolved now: what it is opened by from here on."""
    return path.resolve()


def follow_own(folder: Path) -> None:
    """The links on the way to this folder, which is ours, are followed; others below it are not."""
    OWN_FOLDERS[folder] = folder.resolve()


def open_descriptor(path: Path) -> int:
    """A descriptor to read from, never waited for; raises NotRegularError, or OSError as open() does."""
    try:
        return _open(path)
    except OSError as problem:
        problem.filename = str(path)  # not the one name of it at which the walk ended
        raise


def _open(path: Path) -> int:
    name = path.name or "."
    with _folder_of(path) as folder:
        _check(path, os.stat(name, dir_fd=folder, follow_symlinks=False))
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
        descriptor = os.open(name, flags, dir_fd=folder)
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


@contextmanager
def _folder_of(path: Path) -> Iterator[int]:
    """The folder that the path names, walked one name at a time."""
    named = path.parent
    own = next((own for own in OWN_FOLDERS if named.is_relative_to(own)), None)
    real = OWN_FOLDERS[own] / named.relative_to(own) if own else named
    folder = os.open(real.anchor or ".", _FOLDER)
    try:
        for name in real.relative_to(real.anchor).parts:
            inner = _step(path, name, folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _step(path: Path, name: str, folder: int) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise NotRegularError(f"{path} is behind {name}, a symbolic link, not a regular file") from None
        raise


def _check(path: Path, found: os.stat_result) -> None:
    kind = KINDS.get(stat.S_IFMT(found.st_mode))
    if kind:
        raise NotRegularError(f"{path} is {kind}, not a regular file")
