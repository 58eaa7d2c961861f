"""Files and folders that their owner alone can read.

Modes are set on our own files, and the umask is left alone: the servers that we launch inherit it, and what they write
(a model cache that others share) is not ours to close.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

FOLDER_MODE, FILE_MODE = 0o700, 0o600


def private_folder(path: Path) -> Path:
    """The folder, made where there is none; those that are missing above it are made likewise. Raises OSError."""
    if path.is_dir():
        return path
    private_folder(path.parent)
    try:
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)  # another process may make it at the same moment
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None
    return path


def write_private(path: Path, content: bytes, is_durable: bool = True) -> None:
    """Write a file whole or not at all; raises OSError. is_durable: False where a crash of the machine may undo it."""
    private_folder(path.parent)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE), "wb") as file:
            file.write(content)
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def make_private(path: Path) -> None:
    """Close a file or folder that somebody else has made for us, where it is there. Raises OSError."""
    with suppress(FileNotFoundError):
        path.chmod(FOLDER_MODE if path.is_dir() else FILE_MODE)


def close_to_others(folder: Path, names: Iterable[str]) -> int:
    """Take all rights of others from the named entries of a folder and what is below them; how many had any.

    Links are not followed. The folder itself is closed where it holds nothing else. Raises OSError.
    """
    ours = set(names)
    paths = [path for name in sorted(ours) for path in _tree(folder / name)]
    if all(entry.name in ours or entry.name.startswith(".") for entry in folder.iterdir()):
        paths.append(folder)
    return sum(_close(path) for path in paths)


def _tree(top: Path) -> Iterator[Path]:
    if os.path.lexists(top):
        yield top
    for root, folders, files in os.walk(top):
        yield from (Path(root, name) for name in (*folders, *files))


def _close(path: Path) -> bool:
    """Whether it was open to others; what is a link, gone meanwhile or another user's stays."""
    with suppress(FileNotFoundError, PermissionError):
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode) and mode & 0o077:
            path.chmod(stat.S_IMODE(mode) & ~0o077)
            return True
    return False
