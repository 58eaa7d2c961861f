"""GPUs that are on sale: memory bandwidth and size as their maker prints them, each with its source."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

GPUS = Path(__file__).parent / "gpus.toml"


class Gpu(NamedTuple):
    """One model; decimal GB and GB/s."""

    match: str
    title: str
    bandwidth_gb_s: float
    memory_gb: float
    source: str


@cache
def load_gpus() -> tuple[Gpu, ...]:
    """All of them, in the file's order."""
    rows = tomllib.loads(GPUS.read_text(encoding="utf-8"))["gpu"]
    return tuple(Gpu(**row) for row in rows)


def find_gpu(name: str) -> Gpu | None:
    """The GPU that a driver's name means; None where the table has none of it."""
    found = [gpu for gpu in load_gpus() if gpu.match.lower() in name.lower()]
    return max(found, key=lambda gpu: len(gpu.match), default=None)
