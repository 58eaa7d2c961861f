"""Opens files that others write so that only a regular file is ever read.

open() of a FIFO waits forever for a writer, a device has no end, and a name in someone else's folder may later point
anywhere. So a path is resolved once, when the user enters it (`pin_path`); from then on no symbolic link is followed,
neither the file nor a folder on the way. Only the path to Pitwall's own folder may contain links, set up by its owner.
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


OWN_FOLDERS: dict[Path, Path] = {}  # path as configured -> resolved path

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class NotRegularError(PitwallError):
    """The path is not a regular file; the message is 'PATH is a device, not a regular file'."""


def pin_path(path: Path) -> Path:
    """Return the path with its links resolved now, by which it is opened from then on."""
    return path.resolve()


def follow_own(folder: Path) -> None:
    """Allow links on the path to this folder, which is Pitwall's own; links below it are not followed."""
    OWN_FOLDERS[folder] = folder.resolve()


def open_descriptor(path: Path) -> int:
    """Return a descriptor to read from without blocking; raises NotRegularError, or OSError as open() does."""
    try:
        return _open(path)
    except OSError as problem:
        problem.filename = str(path)  # not just the path component where the walk ended
        raise


def _open(path: Path) -> int:
    name = path.name or "."
    with _folder_of(path) as folder:
        _check(path, os.stat(name, dir_fd=folder, follow_symlinks=False))
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
        descriptor = os.open(name, flags, dir_fd=folder)
    try:
        _check(path, os.fstat(descriptor))  # it may have been replaced between the check and the open
    except NotRegularError:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def open_regular(path: Path) -> Iterator[BinaryIO]:
    """Open the file for reading; raises as `open_descriptor` does."""
    with open(open_descriptor(path), "rb") as file:  # a descriptor, not a path
        yield file


@contextmanager
def _folder_of(path: Path) -> Iterator[int]:
    """Open the path's folder, walking one component at a time."""
    folder_path = path.parent
    own_folder = next((folder_key for folder_key in OWN_FOLDERS if folder_path.is_relative_to(folder_key)), None)
    real_path = OWN_FOLDERS[own_folder] / folder_path.relative_to(own_folder) if own_folder else folder_path
    folder = os.open(real_path.anchor or ".", _FOLDER)
    try:
        for name in real_path.relative_to(real_path.anchor).parts:
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


def _check(path: Path, status: os.stat_result) -> None:
    kind = KINDS.get(stat.S_IFMT(status.st_mode))
    if kind:
        raise NotRegularError(f"{path} is {kind}, not a regular file")
