"""Identity of a model's weights from their files: sizes, headers and samples, read within limits.

The headers of two fine-tunes of one model are equal, so evenly spaced samples of the tensors are hashed as well.
Names of files and folders do not count: a copy elsewhere is the same model.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from domain import JsonValue
from errors import PitwallError
from machine.regular_file import open_regular, pin_path

# Files that may hold weights, the usual format first; the first pattern with a match is read.
PATTERNS = ("*.safetensors", "*.gguf", "pytorch_model*.bin", "consolidated*.pth", "*.engine")
INDEX_PATTERN = "*.index.json"
SPLIT_FILE = re.compile(r"(?P<stem>.+)-\d{5}-of-(?P<count>\d{5})\.gguf")
HEAD_BYTES = 1 << 20  # of a format without a stated header length; a GGUF file begins with its metadata
LONGEST_HEADER_BYTES = 100_000_000  # the limit of the safetensors format
LARGEST_INDEX_BYTES = 64 << 20
SAMPLE_BYTES = 4096
SAMPLES = 256  # of the whole model; each file has one at least


class WeightsUnreadError(PitwallError):
    """The weights cannot be identified; the message is the reason."""


@dataclass(frozen=True, slots=True)
class WeightReadLimits:
    """Limits of reading one model; a slow network file system must not delay the record of a run's start."""

    files: int = 1024
    content_bytes: int = 256 << 20
    seconds: float = 20.0


def identify_weights(model_path: Path, limits: WeightReadLimits | None = None) -> dict[str, JsonValue]:
    """Return 'files', 'bytes', 'sha256_of_headers' and 'sha256_of_samples' of a model's file or folder.

    Raises WeightsUnreadError without weight files, if a part is missing or a limit is reached, and OSError or
    NotRegularError as `open_regular` does.
    """
    reading = _WeightReading(limits or WeightReadLimits())
    paths = _weight_paths(model_path, reading.limits.files)
    samples_per_file = max(1, SAMPLES // len(paths))
    for path in paths:
        with open_regular(pin_path(path)) as file:
            reading.read_file(file, path.suffix == ".safetensors", samples_per_file)
    return {
        "files": len(paths),
        "bytes": reading.size_bytes,
        "sha256_of_headers": reading.headers.hexdigest(),
        "sha256_of_samples": reading.samples.hexdigest(),
    }


class _WeightReading:
    """Hashes of the files read so far."""

    def __init__(self, limits: WeightReadLimits) -> None:
        self.limits = limits
        self.size_bytes = 0
        self.headers, self.samples = hashlib.sha256(), hashlib.sha256()
        self._began_s = time.monotonic()
        self._bytes_left = limits.content_bytes

    def read_file(self, file: BinaryIO, is_safetensors: bool, sample_count: int) -> None:
        """Add one file: its size, its header, and this many samples of what follows."""
        size = os.fstat(file.fileno()).st_size
        self.size_bytes += size
        self.headers.update(size.to_bytes(8, "little"))
        header_bytes = HEAD_BYTES
        if is_safetensors:
            header_bytes = int.from_bytes(self._read(file, 8), "little")
            if not 0 < header_bytes <= min(LONGEST_HEADER_BYTES, size):
                raise WeightsUnreadError("a weight file has no valid header")
        self.headers.update(self._read(file, header_bytes))
        begin = file.tell()
        last = max(begin, size - SAMPLE_BYTES)
        for number in range(sample_count):
            file.seek(begin + (last - begin) * number // max(1, sample_count - 1))
            self.samples.update(self._read(file, SAMPLE_BYTES))

    def _read(self, file: BinaryIO, count: int) -> bytes:
        self._bytes_left -= count
        if self._bytes_left < 0:
            raise WeightsUnreadError(f"its headers are larger than {self.limits.content_bytes >> 20} MiB")
        if time.monotonic() - self._began_s > self.limits.seconds:
            raise WeightsUnreadError(f"reading its headers took longer than {self.limits.seconds:g} s")
        return file.read(count)


def weight_bytes(model_path: Path) -> int:
    """Return the size of a model's weight files; raises as `identify_weights` does."""
    return sum(path.stat().st_size for path in _weight_paths(model_path, WeightReadLimits().files))


def _weight_paths(model_path: Path, max_files: int) -> Sequence[Path]:
    """Return the model's weight files in order; all parts of a split GGUF file."""
    if model_path.is_file():
        return _split_parts(model_path)
    matches = (sorted(path for path in model_path.glob(pattern) if path.is_file()) for pattern in PATTERNS)
    paths: list[Path] = next(filter(None, matches), [])
    if not paths:
        raise WeightsUnreadError("its folder has no weight files")
    if len(paths) > max_files:
        raise WeightsUnreadError(f"it has more than {max_files} weight files")
    _require_indexed_files(model_path)
    return paths


def _split_parts(model_path: Path) -> Sequence[Path]:
    split = SPLIT_FILE.fullmatch(model_path.name)
    if split is None:
        return [model_path]
    parts = sorted(model_path.parent.glob(f"{_literal(split['stem'])}-?????-of-{split['count']}.gguf"))
    if len(parts) != int(split["count"]):
        raise WeightsUnreadError("a part of its split file is missing")
    return parts


def _literal(text: str) -> str:
    """Return a glob pattern that matches this text only."""
    return re.sub(r"([*?[])", r"[\1]", text)


def _require_indexed_files(folder: Path) -> None:
    """Raise WeightsUnreadError if a file that an index names is missing, as during a download."""
    for index in sorted(folder.glob(INDEX_PATTERN)):
        with open_regular(pin_path(index)) as file:
            content = file.read(LARGEST_INDEX_BYTES + 1)
        try:
            weight_map = json.loads(content)["weight_map"]
            names = {Path(str(name)).name for name in weight_map.values()}
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            continue  # not an index of weights, or too large: the files are hashed all the same
        if any(not (folder / name).is_file() for name in names):
            raise WeightsUnreadError("a weight file of its index is missing")
