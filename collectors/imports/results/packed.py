"""A result file as it was before it was packed (.gz, .zst), read within bounds of bytes and of ratio."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from collectors.imports.log_file import RATIO, RATIO_FREE_BYTES, ImportRefusedError, unpacked
from machine.regular_file import opened, pinned

SUFFIXES = (".gz", ".zst")


def plain_name(path: Path) -> Path:
    """What a file is called once it is unpacked."""
    return path.with_suffix("") if path.suffix in SUFFIXES else path


@contextmanager
def opened_plain(path: Path, name: str, most_bytes: int) -> Iterator[BinaryIO]:
    """Its bytes, unpacked where they are packed; reading raises ImportRefusedError beyond `most_bytes`.

    Nothing is unpacked that is not read.
    """
    with opened(pinned(path)) as raw, unpacked(raw) as stream:
        if stream is raw:
            yield raw
            return
        bounded = _Bounded(stream, name, os.fstat(raw.fileno()).st_size, most_bytes)
        with io.BufferedReader(bounded) as plain:
            yield plain


class _Bounded(io.RawIOBase):
    """What comes out of a packed file of `packed_bytes`."""

    def __init__(self, stream: BinaryIO, name: str, packed_bytes: int, most_bytes: int) -> None:
        self._stream, self._name, self._most_bytes = stream, name, most_bytes
        self._most_by_ratio = max(RATIO * packed_bytes, RATIO_FREE_BYTES)
        self._read_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        place = memoryview(buffer)
        try:
            data = self._stream.read(len(place))
        except OSError as error:
            if error.errno is None:  # Arrow's own: what it unpacks is not whole
                raise ImportRefusedError(f"{self._name} is cut or damaged: {error}.") from error
            raise
        self._read_bytes += len(data)
        if self._read_bytes > self._most_bytes:
            raise self._refusal(f"{self._most_bytes >> 20} MiB")
        if self._read_bytes > self._most_by_ratio:
            raise self._refusal(f"{RATIO} times its size")
        place[: len(data)] = data
        return len(data)

    def _refusal(self, bound: str) -> ImportRefusedError:
        return ImportRefusedError(f"{self._name} unpacks to more than {bound}: no result file does.")
