"""Files and folders that only their owner can read.

Modes are set on Pitwall's own files; the umask stays unchanged, because launched servers inherit it and what they
write (a shared model cache) must stay readable.
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
    """Create the folder and its missing parents as private folders; returns it. Raises OSError."""
    if path.is_dir():
        return path
    private_folder(path.parent)
    try:
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)  # another process may create it at the same moment
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None
    return path


def write_private(path: Path, content: bytes, is_durable: bool = True) -> None:
    """Write a file atomically; raises OSError. is_durable: False if a crash of the machine may undo it."""
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
    """Make a file or folder that another library created private, if it exists. Raises OSError."""
    with suppress(FileNotFoundError):
        path.chmod(FOLDER_MODE if path.is_dir() else FILE_MODE)


def close_to_others(folder: Path, names: Iterable[str]) -> int:
    """Remove the rights of others from these entries of a folder and all below; returns how many had any.

    Links are not followed. The folder itself is closed too if it holds nothing else. Raises OSError.
    """
    own_names = set(names)
    paths = [path for name in sorted(own_names) for path in _tree(folder / name)]
    if all(entry.name in own_names or entry.name.startswith(".") for entry in folder.iterdir()):
        paths.append(folder)
    return sum(_close(path) for path in paths)


def _tree(top: Path) -> Iterator[Path]:
    if os.path.lexists(top):
        yield top
    for root, folders, files in os.walk(top):
        yield from (Path(root, name) for name in (*folders, *files))


def _close(path: Path) -> bool:
    """Return whether it was open to others; links, deleted files and other users' files are skipped."""
    with suppress(FileNotFoundError, PermissionError):
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode) and mode & 0o077:
            path.chmod(stat.S_IMODE(mode) & ~0o077)
            return True
    return False
