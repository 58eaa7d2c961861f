"""Files with computed results of ended runs, in the runs' folders: deleted with the run, and recomputable."""

from __future__ import annotations

import zlib
from contextlib import suppress
from pathlib import Path

from machine.private_files import write_private
from machine.regular_file import NotRegularError, open_regular

FOLDER = "known"
MAX_BYTES = 16 << 20  # uncompressed; a run of a week takes 1 MiB
LEVEL = 3


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
                unpacking = zlib.decompressobj()
                content = unpacking.decompress(file.read(MAX_BYTES), MAX_BYTES)
        except (OSError, NotRegularError, zlib.error):
            return None
        return content if unpacking.eof else None

    def write(self, run_id: str, kind: str, basis: str, content: bytes) -> None:
        """Replace the content; skipped if it is too large or the disk is full."""
        if len(content) <= MAX_BYTES:
            with suppress(OSError):
                packed = f"{basis}\n".encode() + zlib.compress(content, LEVEL)
                write_private(self._path(run_id, kind), packed, is_durable=False)

    def _path(self, run_id: str, kind: str) -> Path:
        return self._runs_dir / run_id / FOLDER / kind
