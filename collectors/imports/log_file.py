"""Unpacks a log file to import (plain, gzip or zstd) and compares it with logs that were imported before."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from errors import PitwallError
from machine.regular_file import open_regular, pin_path
from machine.text_encoding import utf8_chunks

CHUNK_BYTES = 1 << 20
HEAD_BYTES = 4096
MAX_BYTES = 16 << 30  # unpacked; stops decompression bombs
RATIO = 300  # unpacked to packed bytes, as for bundles; logs stay below 100
RATIO_FREE_BYTES = 64 << 20  # up to this size any ratio is accepted
FREE_BYTES = 1 << 30  # disk space reserved for the live runs
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}

ReportProgress = Callable[[float], None]  # receives the completed share of the work, 0..1


class ImportRefusedError(PitwallError):
    """A file cannot be imported; the message is one sentence for the user."""


def unpack(source: Path, target: Path, report: ReportProgress) -> int:
    """Copy a log, unpacked if it was packed, in UTF-8; returns the bytes written.

    Symbolic links are resolved first. Raises ImportRefusedError, NotRegularError or OSError.
    """
    written_bytes, size = 0, max(source.stat().st_size, 1)
    with open_regular(pin_path(source)) as raw, unpacked(raw) as stream, target.open("wb") as out:
        try:
            for data in utf8_chunks(stream, CHUNK_BYTES):
                written_bytes += out.write(data)
                _check_ratio(written_bytes, size, source)
                _check_room(written_bytes, target, source)
                report(min(raw.tell() / size, 1.0))
        except OSError as error:
            if error.errno is None:  # from Arrow: the packed data is incomplete
                raise ImportRefusedError(f"{source.name} is cut or damaged: {error}.") from error
            raise
    return written_bytes


@contextmanager
def unpacked(raw: BinaryIO) -> Iterator[BinaryIO]:
    """Open a file's unpacked bytes; the reader must limit how much it reads."""
    start = raw.read(4)
    raw.seek(0)
    compression = next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)
    if compression is None:
        yield raw
    else:
        with pa.CompressedInputStream(pa.PythonFile(raw, "r"), compression) as stream:
            yield stream


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    while data := stream.read(CHUNK_BYTES):
        yield data


def _check_ratio(written_bytes: int, size: int, source: Path) -> None:
    if written_bytes > max(RATIO * size, RATIO_FREE_BYTES):
        raise ImportRefusedError(f"{source.name} unpacks to more than {RATIO} times its size, the limit for logs.")


def _check_room(written_bytes: int, target: Path, source: Path) -> None:
    disk = os.statvfs(target.parent)
    if written_bytes > MAX_BYTES:
        raise ImportRefusedError(f"{source.name} unpacks to more than {MAX_BYTES >> 30} GiB.")
    if disk.f_bavail * disk.f_frsize < FREE_BYTES:
        raise ImportRefusedError(
            f"{source.name} does not fit on the disk: less than {FREE_BYTES >> 30} GiB would be left."
        )


def is_same_log(known_log: Path, new_log: Path) -> bool:
    """Return whether one log is a prefix of the other; an empty log is not."""
    try:
        with known_log.open("rb") as a, new_log.open("rb") as b:
            remaining_bytes = min(os.fstat(a.fileno()).st_size, os.fstat(b.fileno()).st_size)
            step_bytes, is_same = HEAD_BYTES, remaining_bytes > 0  # most other logs differ in their first bytes
            while remaining_bytes and is_same:
                count = min(step_bytes, remaining_bytes)
                is_same = a.read(count) == b.read(count)
                step_bytes, remaining_bytes = CHUNK_BYTES, remaining_bytes - count
            return is_same
    except OSError:  # its log is gone
        return False


def append_new(known_log: Path, longer_log: Path) -> int:
    """Append to a known log what a longer copy has beyond it; returns the bytes added."""
    gained_bytes = 0
    with longer_log.open("rb") as source, known_log.open("ab") as out:
        source.seek(known_log.stat().st_size)
        for data in _chunks(source):
            gained_bytes += out.write(data)
    return gained_bytes
