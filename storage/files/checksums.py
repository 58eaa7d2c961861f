"""Compares sealed files with their checksums while Pitwall runs: a file whose damage decodes says nothing of it itself.

It is the sealer's, after its other work, a bounded number of bytes each time and each file once a day.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from storage.files.manifest import IN_FORCE

BYTES_A_TURN = 64 << 20  # every 30 s: 190 GB a day, for 0.2 % of a core
ROUND_S = 86_400.0
_CHUNK_BYTES = 1 << 20
INTACT = f"""
    SELECT {IN_FORCE} AS file, coalesce(any_value(merged_sha256), any_value(sha256)) AS sha256
    FROM raw.sealed_files WHERE lost_reason IS NULL GROUP BY file HAVING sha256 IS NOT NULL ORDER BY file
"""


class Written(NamedTuple):
    """A sealed file, by its path below the folder of all, and the checksum that was written down of it."""

    file: str
    sha256: str


class ChecksumRound:
    """Looks at the files in turn, and begins anew once a day; used by one thread."""

    def __init__(self, parquet_dir: Path, is_ending: Callable[[], bool]) -> None:
        self._parquet_dir = parquet_dir
        self._is_ending = is_ending
        self._left: deque[Written] = deque()
        self._next_from_s = 0.0  # monotonic

    def changed(self, intact: Callable[[], Iterable[Written]]) -> set[Path]:
        """The next files, as many as a turn may read, that are not as they were written; `intact` gives those of a
        round. One that is gone by now may have been merged, and is left to who looks for what is missing.
        """
        if not self._left and time.monotonic() >= self._next_from_s:
            self._left.extend(intact())
            self._next_from_s = time.monotonic() + ROUND_S
        found, read_bytes = set[Path](), 0
        while self._left and read_bytes < BYTES_A_TURN and not self._is_ending():
            written = self._left.popleft()
            path = self._parquet_dir / written.file
            try:
                size_bytes, sha256 = self._read(path)
            except FileNotFoundError:
                continue
            except OSError:
                size_bytes, sha256 = 0, ""
            read_bytes += size_bytes
            if sha256 is not None and sha256 != written.sha256:
                found.add(path)
        return found

    def _read(self, path: Path) -> tuple[int, str | None]:
        """The file's size and checksum; no checksum where Pitwall ends meanwhile."""
        digest, size_bytes = hashlib.sha256(), 0
        with path.open("rb") as file:
            while data := file.read(_CHUNK_BYTES):
                if self._is_ending():
                    return size_bytes, None
                digest.update(data)
                size_bytes += len(data)
        return size_bytes, digest.hexdigest()
