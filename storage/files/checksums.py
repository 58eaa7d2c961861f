"""Compares sealed files with their checksums, because damaged Parquet data may decode without an error.

The sealer does this after its other work: a bounded number of bytes per turn, and each file once a day.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from storage.files.manifest import CURRENT_FILE

BYTES_A_TURN = 64 << 20  # every 30 s: 190 GB a day, for 0.2 % of a core
ROUND_S = 86_400.0
_CHUNK_BYTES = 1 << 20
INTACT_FILES_SQL = f"""
    SELECT {CURRENT_FILE} AS file, coalesce(any_value(merged_sha256), any_value(sha256)) AS sha256
    FROM raw.sealed_files WHERE lost_reason IS NULL GROUP BY file HAVING sha256 IS NOT NULL ORDER BY file
"""


class ChecksumRecord(NamedTuple):
    """A sealed file, by its path below the Parquet folder, and its recorded checksum."""

    file: str
    sha256: str


class ChecksumRound:
    """Checks all files in turn, once a day; used by one thread."""

    def __init__(self, parquet_dir: Path, is_ending: Callable[[], bool]) -> None:
        self._parquet_dir = parquet_dir
        self._is_ending = is_ending
        self._queue: deque[ChecksumRecord] = deque()
        self._next_round_s = 0.0  # monotonic

    def changed_files(self, list_intact: Callable[[], Iterable[ChecksumRecord]]) -> set[Path]:
        """Check the next files, as many as a turn may read, and return the altered ones.

        `list_intact` lists the files of a new round. A missing file may have been merged and is skipped here.
        """
        if not self._queue and time.monotonic() >= self._next_round_s:
            self._queue.extend(list_intact())
            self._next_round_s = time.monotonic() + ROUND_S
        altered, read_bytes = set[Path](), 0
        while self._queue and read_bytes < BYTES_A_TURN and not self._is_ending():
            record = self._queue.popleft()
            path = self._parquet_dir / record.file
            try:
                size_bytes, sha256 = self._read(path)
            except FileNotFoundError:
                continue
            except OSError:
                size_bytes, sha256 = 0, ""
            read_bytes += size_bytes
            if sha256 is not None and sha256 != record.sha256:
                altered.add(path)
        return altered

    def _read(self, path: Path) -> tuple[int, str | None]:
        """The file's size and checksum; no checksum if Pitwall is closing."""
        digest, size_bytes = hashlib.sha256(), 0
        with path.open("rb") as file:
            while data := file.read(_CHUNK_BYTES):
                if self._is_ending():
                    return size_bytes, None
                digest.update(data)
                size_bytes += len(data)
        return size_bytes, digest.hexdigest()
