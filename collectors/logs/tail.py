"""Follows one growing file through rotation, truncation and deletion."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from collectors.base import UnavailableError, UnreadableError
from machine.regular_file import NotRegularError, open_descriptor
from samples import TailPosition

CHUNK_BYTES = 1 << 18
HEAD_BYTES = 256


@dataclass(frozen=True, slots=True)
class FileGrowth:
    """Further bytes of the file, in order."""

    data: bytes


@dataclass(frozen=True, slots=True)
class FileReplacement:
    """The next bytes are those of a new file from its start; `reason` says how the old one ended."""

    reason: str


@dataclass(frozen=True, slots=True)
class FileRemoval:
    """The path no longer exists; bytes still written to the open file continue to be read."""


FileChange = FileGrowth | FileReplacement | FileRemoval


class FileTail:
    """Reads a file from byte 0 and follows its growth; the reader decides what it has seen before."""

    def __init__(self, path: Path, committed: TailPosition | None) -> None:
        """`committed` is the store's position; its generation continues if the file is still the same."""
        self.path = path
        self.generation = committed.generation if committed else 0
        self.inode = committed.inode if committed else 0
        self._committed = committed
        self._fd: int | None = None
        self._offset = 0
        self._head = b""
        self._is_removal_reported = False
        self._size = 0  # at the last poll

    @property
    def unread_bytes(self) -> int:
        """Bytes of the file that were unread at the last poll."""
        return max(0, self._size - self._offset)

    def poll(self) -> Iterator[FileChange]:
        """Yield the changes of the file since the last poll.

        Raises UnavailableError if it cannot be read, UnreadableError while the path is not a regular file.
        """
        if self._fd is None and not (yield from self._open_first()):
            return
        while True:
            yield from self._check_truncation()
            yield from self._read_to_end()
            if not (yield from self._check_rotation()):
                return

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open_first(self) -> Generator[FileChange, None, bool]:
        """Open the path if it exists; yields a replacement if it is not the file of the committed position."""
        if not self._open():
            if self._committed is not None:
                yield from self._report_removal()
            return False
        assert self._fd is not None
        committed, self._committed = self._committed, None
        if committed is not None and (committed.inode != self.inode or committed.offset > os.fstat(self._fd).st_size):
            self.generation += 1
            yield FileReplacement("it was replaced while it was not being read; the end of the old file is unknown")
        return True

    def _open(self) -> bool:
        """Open the path's current file; the previous one is closed only after that succeeds."""
        try:
            fd = open_descriptor(self.path)
        except FileNotFoundError:
            return False
        except NotRegularError as problem:
            raise UnreadableError(f"{problem}: it is not read") from None
        except OSError as problem:
            raise UnavailableError(f"{self.path} cannot be read: {problem.strerror}") from None
        self.close()
        self._fd, self.inode = fd, os.fstat(fd).st_ino
        self._offset, self._head, self._is_removal_reported = 0, b"", False
        return True

    def _check_truncation(self) -> Iterator[FileChange]:
        """Detect truncation; a file truncated and then grown beyond its old size differs only in its first bytes."""
        assert self._fd is not None
        size = self._size = os.fstat(self._fd).st_size
        if size < self._offset or (size > self._offset and os.pread(self._fd, len(self._head), 0) != self._head):
            os.lseek(self._fd, 0, os.SEEK_SET)
            self._offset, self._head = 0, b""
            self.generation += 1
            yield FileReplacement("it was truncated")

    def _read_to_end(self) -> Iterator[FileChange]:
        assert self._fd is not None
        while data := os.read(self._fd, CHUNK_BYTES):
            if self._offset == len(self._head) < HEAD_BYTES:
                self._head += data[: HEAD_BYTES - len(self._head)]
            self._offset += len(data)
            yield FileGrowth(data)

    def _check_rotation(self) -> Generator[FileChange, None, bool]:
        """Return whether the path pointed to another file, which is then read from now on."""
        try:
            path_inode = os.lstat(self.path).st_ino
        except FileNotFoundError:
            path_inode = None
        if path_inode == self.inode:
            self._is_removal_reported = False
            return False
        if path_inode is None or not self._open():
            yield from self._report_removal()
            return False
        self.generation += 1
        yield FileReplacement("it was rotated")
        return True

    def _report_removal(self) -> Iterator[FileChange]:
        if not self._is_removal_reported:
            self._is_removal_reported = True
            yield FileRemoval()
