"""GPU models with memory bandwidth and size as their maker publishes them, each with its source."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

GPUS = Path(__file__).parent / "gpus.toml"


class GpuModel(NamedTuple):
    """One GPU model; decimal GB and GB/s."""

    match: str
    title: str
    bandwidth_gb_s: float
    memory_gb: float
    source: str


@cache
def load_gpus() -> tuple[GpuModel, ...]:
    """Return all GPU models in the file's order."""
    rows = tomllib.loads(GPUS.read_text(encoding="utf-8"))["gpu"]
    return tuple(GpuModel(**row) for row in rows)


def find_gpu(name: str) -> GpuModel | None:
    """Return the GPU model with the longest match in the driver's name; None if the table lacks it."""
    matching_gpus = [gpu for gpu in load_gpus() if gpu.match.lower() in name.lower()]
    return max(matching_gpus, key=lambda gpu: len(gpu.match), default=None)
