"""One growing file, followed through rotation, truncation and deletion."""

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
class Grown:
    """More of the file, in order."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Replaced:
    """What follows is a new file from its first byte; `reason` says how the old one ended."""

    reason: str


@dataclass(frozen=True, slots=True)
class Gone:
    """The path is no longer there; what is still written into the old file goes on to be read."""


Step = Grown | Replaced | Gone


class FileTail:
    """Reads a file from byte 0 to its end and on; the reader decides what it has seen before."""

    def __init__(self, path: Path, known: TailPosition | None) -> None:
        """`known` is where the store stands: its generation goes on if the file is still the same."""
        self.path = path
        self.generation = known.generation if known else 0
        self.inode = known.inode if known else 0
        self._known = known
        self._fd: int | None = None
        self._offset = 0
        self._head = b""
        self._gone_reported = False
        self._size = 0  # as of the last look

    @property
    def unread_bytes(self) -> int:
        """How far the file was ahead of what is read, as of the last look."""
        return max(0, self._size - self._offset)

    def poll(self) -> Iterator[Step]:
        """What has happened to the file since the last poll.

        Raises UnavailableError when it may not be read, UnreadableError while the path names no regular file.
        """
        if self._fd is None and not (yield from self._begin()):
            return
        while True:
            yield from self._overwritten()
            yield from self._rest()
            if not (yield from self._rotated()):
                return

    def close(self) -> None:
        """Let go of the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _begin(self) -> Generator[Step, None, bool]:
        """Open the path if it is there; a step says whether it is another file than the known one."""
        if not self._open():
            if self._known is not None:
                yield from self._gone()
            return False
        assert self._fd is not None
        known, self._known = self._known, None
        if known is not None and (known.inode != self.inode or known.offset > os.fstat(self._fd).st_size):
            self.generation += 1
            yield Replaced("it was replaced while nobody read it; what was left of the old file is unknown")
        return True

    def _open(self) -> bool:
        """Take the file that the path names now; the one held before is let go only then."""
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
        self._offset, self._head, self._gone_reported = 0, b"", False
        return True

    def _overwritten(self) -> Iterator[Step]:
        """A file cut to nothing and written past the old end shows only in its first bytes."""
        assert self._fd is not None
        size = self._size = os.fstat(self._fd).st_size
        if size < self._offset or (size > self._offset and os.pread(self._fd, len(self._head), 0) != self._head):
            os.lseek(self._fd, 0, os.SEEK_SET)
            self._offset, self._head = 0, b""
            self.generation += 1
            yield Replaced("it was truncated")

    def _rest(self) -> Iterator[Step]:
        assert self._fd is not None
        while data := os.read(self._fd, CHUNK_BYTES):
            if self._offset == len(self._head) < HEAD_BYTES:
                self._head += data[: HEAD_BYTES - len(self._head)]
            self._offset += len(data)
            yield Grown(data)

    def _rotated(self) -> Generator[Step, None, bool]:
        """True when the path named another file, which is now the one that is read."""
        try:
            named = os.lstat(self.path).st_ino
        except FileNotFoundError:
            named = None
        if named == self.inode:
            self._gone_reported = False
            return False
        if named is None or not self._open():
            yield from self._gone()
            return False
        self.generation += 1
        yield Replaced("it was rotated")
        return True

    def _gone(self) -> Iterator[Step]:
        if not self._gone_reported:
            self._gone_reported = True
            yield Gone()
