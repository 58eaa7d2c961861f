"""Fresh copies of a task's folder, within limits, with a digest of what was copied.

No link is followed. A link that leads to a place within the folder is copied as a link; one that leads out of it, and
whatever is neither file, folder nor link, is left out: an agent must not change the original through its copy.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from errors import PitwallError
from machine.private_files import private_folder

CHUNK_BYTES = 1 << 20
MOST_DEPTH = 100  # folders within folders
MIB = 1 << 20


class FolderCopyError(PitwallError):
    """A folder cannot be copied; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class CopyLimits:
    """Limits of one copy."""

    total_bytes: int
    files: int


@dataclass(slots=True)
class FolderCopy:
    """What was copied; `left_out`: links that lead out of the folder, sockets, pipes and devices."""

    digest: str = ""
    files: int = 0
    total_bytes: int = 0
    left_out: list[str] = field(default_factory=list)


def copy_folder(source: Path, target: Path, limits: CopyLimits) -> FolderCopy:
    """Copy a folder to a place that does not exist yet; raises FolderCopyError, OSError."""
    source = source.resolve()
    if not source.is_dir():
        raise FolderCopyError(f"{source} is not a folder.")
    if target.resolve().is_relative_to(source):
        raise FolderCopyError(f"{source} contains Pitwall's own copies: choose a folder that does not.")
    private_folder(target)
    copy, digest = FolderCopy(), hashlib.sha256()
    for path, status in _entries(source, limits.files):
        name, place = path.relative_to(source), target / path.relative_to(source)
        head = f"{name}\0{stat.S_IFMT(status.st_mode)}\0{_is_executable(status)}\0".encode(errors="surrogateescape")
        if stat.S_ISDIR(status.st_mode):
            place.mkdir(mode=0o700)
            digest.update(head)
        elif stat.S_ISREG(status.st_mode):
            copy.files += 1
            digest.update(head + _copy_file(path, place, copy, limits))
        elif stat.S_ISLNK(status.st_mode) and (link := _inner_link(path, source)) is not None:
            place.symlink_to(link)
            digest.update(head + link.encode(errors="surrogateescape"))
        else:
            copy.left_out.append(str(name))
    copy.digest = digest.hexdigest()[:16]
    return copy


def _is_executable(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and bool(status.st_mode & stat.S_IXUSR)


def _entries(source: Path, most: int) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield everything below the folder, a folder before what is in it, in the order of names."""
    waiting, count = [source], 0
    while waiting:
        with os.scandir(waiting.pop()) as listing:
            entries = []
            for entry in listing:
                count += 1
                if count > most:
                    raise FolderCopyError(f"{source} has more than {most:,} files and folders, the limit of a copy.")
                entries.append(entry)
        entries.sort(key=lambda entry: entry.name)
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            path = Path(entry.path)
            if stat.S_ISDIR(status.st_mode):
                if len(path.relative_to(source).parts) > MOST_DEPTH:
                    raise FolderCopyError(f"{source} has folders nested more than {MOST_DEPTH} deep.")
                waiting.append(path)
            yield path, status


def _copy_file(path: Path, place: Path, copy: FolderCopy, limits: CopyLimits) -> bytes:
    """Copy one file and return the hash of its content; a file that grows meanwhile counts as it grows."""
    digest = hashlib.sha256()
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise FolderCopyError(f"{path} was replaced while it was copied.")
        mode = 0o700 if _is_executable(status) else 0o600
        with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as out:
            while data := file.read(CHUNK_BYTES):
                copy.total_bytes += len(data)
                if copy.total_bytes > limits.total_bytes:
                    raise FolderCopyError(
                        f"The folder has more than {limits.total_bytes // MIB:,} MiB, the limit of a copy."
                    )
                digest.update(data)
                out.write(data)
    return digest.digest()


def _inner_link(path: Path, source: Path) -> str | None:
    """Return where a link leads, relative to its own folder, if that is within the source; else None."""
    link = path.readlink()
    if link.is_absolute():
        return None
    return str(link) if (path.parent / link).resolve().is_relative_to(source) else None
