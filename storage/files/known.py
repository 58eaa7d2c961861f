"""What was computed of runs that have ended, kept in their folders: it goes with the run, and can be computed anew."""

from __future__ import annotations

import zlib
from contextlib import suppress
from pathlib import Path

from machine.private_files import write_private

FOLDER = "known"
MOST_BYTES = 16 << 20  # unpacked: a run of a week takes one
LEVEL = 3


class KnownFiles:
    """A file a run and kind; its first line says what it was computed from, and under another it counts as absent."""

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = runs_dir

    def read(self, run_id: str, kind: str, basis: str) -> bytes | None:
        """What was kept; None where there is nothing, or nothing whole, that was computed from `basis`."""
        try:
            with self._path(run_id, kind).open("rb") as file:
                if file.readline(len(basis) + 1) != f"{basis}\n".encode():
                    return None
                unpacking = zlib.decompressobj()
                content = unpacking.decompress(file.read(MOST_BYTES), MOST_BYTES)
        except (OSError, zlib.error):
            return None
        return content if unpacking.eof else None

    def write(self, run_id: str, kind: str, basis: str, content: bytes) -> None:
        """Keep it instead of what was kept before; nothing is kept of what is too large, or on a full disk."""
        if len(content) <= MOST_BYTES:
            with suppress(OSError):
                packed = f"{basis}\n".encode() + zlib.compress(content, LEVEL)
                write_private(self._path(run_id, kind), packed, is_durable=False)

    def _path(self, run_id: str, kind: str) -> Path:
        return self._runs_dir / run_id / FOLDER / kind
