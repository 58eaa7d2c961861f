"""Files with computed results of ended runs, in the runs' folders: deleted with the run, and recomputable."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from machine.private_files import write_private
from machine.regular_file import NotRegularError, open_regular

FOLDER = "known"
MAX_BYTES = 16 << 20  # uncompressed; a run of a week takes 1 MiB
SIZE_BYTES = 8


def pack(content: bytes) -> bytes:
    """Return the size of the content in 8 bytes, and the content compressed with Zstandard."""
    compressed: bytes = pa.compress(content, codec="zstd", asbytes=True)
    return len(content).to_bytes(SIZE_BYTES) + compressed


def unpack(packed: bytes) -> bytes:
    """Return the content; raises ValueError if it is damaged, incomplete or larger than MAX_BYTES."""
    size = int.from_bytes(packed[:SIZE_BYTES])
    if len(packed) <= SIZE_BYTES or size > MAX_BYTES:
        raise ValueError(f"{len(packed)} bytes of a content of {size}")
    try:
        content: bytes = pa.decompress(packed[SIZE_BYTES:], decompressed_size=size, codec="zstd", asbytes=True)
    except OSError as error:
        raise ValueError(str(error)) from None
    return content


class ReportFiles:
    """One file per run and kind; its first line is the basis of the result, and other bases count as absent."""

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = runs_dir

    def read(self, run_id: str, kind: str, basis: str) -> bytes | None:
        """Return the content computed from `basis`; None if it is absent, incomplete or no regular file."""
        try:
            with open_regular(self._path(run_id, kind)) as file:
                if file.readline(len(basis) + 1) != f"{basis}\n".encode():
                    return None
                return unpack(file.read(MAX_BYTES))
        except (OSError, NotRegularError, ValueError):
            return None

    def write(self, run_id: str, kind: str, basis: str, content: bytes) -> None:
        """Replace the content; skipped if it is too large or the disk is full."""
        if len(content) <= MAX_BYTES:
            with suppress(OSError):
                write_private(self._path(run_id, kind), f"{basis}\n".encode() + pack(content), is_durable=False)

    def _path(self, run_id: str, kind: str) -> Path:
        return self._runs_dir / run_id / FOLDER / kind
