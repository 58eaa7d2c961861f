"""A log file to import: plain, gzip or zstd, possibly a longer copy of one that was imported before."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from errors import PitwallError
from machine.regular_file import opened, pinned

CHUNK_BYTES = 1 << 20
HEAD_BYTES = 4096
LARGEST_BYTES = 16 << 30  # unpacked; a bomb ends here, or where the disk would be full
RATIO = 300  # of the unpacked to the packed bytes, as of bundles; logs stay below 100
RATIO_FREE_BYTES = 64 << 20  # so little may be packed as tightly as it likes
FREE_BYTES = 1 << 30  # left on the disk, for the runs that go on
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}

Report = Callable[[float], None]  # the share of the work that is done, 0..1


class ImportRefusedError(PitwallError):
    """A file that cannot be imported; the message is one sentence for a person."""


def unpack(source: Path, target: Path, report: Report) -> int:
    """Copy a log, unpacked if it was packed; the bytes written.

    A link that a person names is followed once. Raises ImportRefusedError, NotRegularError or OSError.
    """
    written, size = 0, max(source.stat().st_size, 1)
    with opened(pinned(source)) as raw, unpacked(raw) as stream, target.open("wb") as out:
        try:
            for data in _chunks(stream):
                written += out.write(data)
                _check_ratio(written, size, source)
                _check_room(written, target, source)
                report(min(raw.tell() / size, 1.0))
        except OSError as error:
            if error.errno is None:  # Arrow's own: what it unpacks is not whole
                raise ImportRefusedError(f"{source.name} is cut or damaged: {error}.") from error
            raise
    return written


@contextmanager
def unpacked(raw: BinaryIO) -> Iterator[BinaryIO]:
    """The bytes of a file as they were before they were packed; without a bound, which is its reader's."""
    start = raw.read(4)
    raw.seek(0)
    packing = next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)
    if packing is None:
        yield raw
    else:
        with pa.CompressedInputStream(pa.PythonFile(raw, "r"), packing) as stream:
            yield stream


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    while data := stream.read(CHUNK_BYTES):
        yield data


def _check_ratio(written: int, size: int, source: Path) -> None:
    if written > max(RATIO * size, RATIO_FREE_BYTES):
        raise ImportRefusedError(f"{source.name} unpacks to more than {RATIO} times its size: no log does.")


def _check_room(written: int, target: Path, source: Path) -> None:
    disk = os.statvfs(target.parent)
    if written > LARGEST_BYTES:
        raise ImportRefusedError(f"{source.name} unpacks to more than {LARGEST_BYTES >> 30} GiB.")
    if disk.f_bavail * disk.f_frsize < FREE_BYTES:
        raise ImportRefusedError(
            f"{source.name} does not fit on the disk: less than {FREE_BYTES >> 30} GiB would be left."
        )


def is_same_log(known: Path, other: Path) -> bool:
    """Whether one of two logs begins with all of the other; an empty one is nobody's beginning."""
    try:
        with known.open("rb") as a, other.open("rb") as b:
            left = min(os.fstat(a.fileno()).st_size, os.fstat(b.fileno()).st_size)
            step, same = HEAD_BYTES, left > 0  # nearly all others differ in their heads
            while left and same:
                count = min(step, left)
                same = a.read(count) == b.read(count)
                step, left = CHUNK_BYTES, left - count
            return same
    except OSError:  # its log is gone
        return False


def append_rest(known: Path, longer: Path) -> int:
    """Write what the longer copy of a log has beyond the known one behind it; the bytes gained."""
    gained = 0
    with longer.open("rb") as source, known.open("ab") as out:
        source.seek(known.stat().st_size)
        for data in _chunks(source):
            gained += out.write(data)
    return gained
