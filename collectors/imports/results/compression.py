"""Opens packed result files (.gz, .zst), with limits on the unpacked bytes and the compression ratio."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from collectors.imports.log_file import RATIO, RATIO_FREE_BYTES, ImportRefusedError, unpacked
from machine.regular_file import open_regular, pin_path

SUFFIXES = (".gz", ".zst")


def plain_name(path: Path) -> Path:
    """Return the name of a file after unpacking."""
    return path.with_suffix("") if path.suffix in SUFFIXES else path


@contextmanager
def open_unpacked(path: Path, name: str, max_bytes: int) -> Iterator[BinaryIO]:
    """Open a file's bytes, unpacked if packed; reading raises ImportRefusedError beyond `max_bytes`.

    Unpacks only what is read.
    """
    with open_regular(pin_path(path)) as raw, unpacked(raw) as stream:
        if stream is raw:
            yield raw
            return
        limited = _LimitedStream(stream, name, os.fstat(raw.fileno()).st_size, max_bytes)
        with io.BufferedReader(limited) as plain:
            yield plain


class _LimitedStream(io.RawIOBase):
    """Unpacked stream of a file of `packed_bytes`, with its limits."""

    def __init__(self, stream: BinaryIO, name: str, packed_bytes: int, max_bytes: int) -> None:
        self._stream, self._name, self._max_bytes = stream, name, max_bytes
        self._max_bytes_by_ratio = max(RATIO * packed_bytes, RATIO_FREE_BYTES)
        self._read_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        target = memoryview(buffer)
        try:
            data = self._stream.read(len(target))
        except OSError as error:
            if error.errno is None:  # from Arrow: the packed data is incomplete
                raise ImportRefusedError(f"{self._name} is cut or damaged: {error}.") from error
            raise
        self._read_bytes += len(data)
        if self._read_bytes > self._max_bytes:
            raise self._refusal(f"{self._max_bytes >> 20} MiB")
        if self._read_bytes > self._max_bytes_by_ratio:
            raise self._refusal(f"{RATIO} times its size")
        target[: len(data)] = data
        return len(data)

    def _refusal(self, limit: str) -> ImportRefusedError:
        return ImportRefusedError(f"{self._name} unpacks to more than {limit}, the limit for result files.")
