"""Readings of the first GPU without Pitwall's code: `nvidia-smi` in three loops, and NVML's energy counter."""

from __future__ import annotations

import contextlib
import csv
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pynvml

GPU_EVERY_MS = 100
PROCESSES_EVERY_MS = 500
COUNTER_EVERY_S = 0.1
QUERIED = {  # field of nvidia-smi -> our column, and how many of our units it has
    "uuid": ("gpu_uuid", None),
    "name": ("gpu_name", None),
    "driver_version": ("driver_version", None),
    "power.draw.instant": ("power_w", 1.0),
    "enforced.power.limit": ("power_limit_w", 1.0),
    "clocks.sm": ("sm_clock_mhz", 1.0),
    "clocks.max.sm": ("sm_clock_max_mhz", 1.0),
    "clocks.mem": ("memory_clock_mhz", 1.0),
    "utilization.gpu": ("utilization_ratio", 0.01),
    "utilization.memory": ("memory_utilization_ratio", 0.01),
    "memory.used": ("memory_used_bytes", float(1 << 20)),
    "memory.total": ("memory_total_bytes", float(1 << 20)),
    "temperature.gpu": ("temperature_c", 1.0),
    "temperature.memory": ("memory_temperature_c", 1.0),
    "clocks_event_reasons.active": ("throttle_reasons", None),
}
NUMBERS = tuple(column for column, unit in QUERIED.values() if unit is not None)


class GpuRow(NamedTuple):
    """One line of `--query-gpu`: seconds since 1970, and its values under our names; None: not shown."""

    at_s: float
    words: dict[str, str]
    numbers: dict[str, float | None]


class ProcessMemory(NamedTuple):
    """One line of `--query-compute-apps`."""

    at_s: float
    pid: int
    held_bytes: float


class KernelShare(NamedTuple):
    """One line of `nvidia-smi pmon`: the share of a second in which this process had a kernel running."""

    at_s: float
    pid: int
    ratio: float


class EnergyReading(NamedTuple):
    """NVML's energy counter."""

    at_s: float
    joules: float


class Reading(NamedTuple):
    """All readings, ordered by time."""

    gpu: list[GpuRow]
    held_rows: list[ProcessMemory]
    ran: list[KernelShare]
    counted: list[EnergyReading]


def loops(folder: Path) -> dict[Path, list[str]]:
    """Return file -> the command that writes it."""
    fields = ",".join(["timestamp", *QUERIED])
    every = ["--format=csv,noheader,nounits", "-i", "0", "-lms"]
    return {
        folder / "gpu.csv": ["nvidia-smi", f"--query-gpu={fields}", *every, str(GPU_EVERY_MS)],
        folder / "held.csv": [
            *("nvidia-smi", "--query-compute-apps=timestamp,pid,used_memory", *every, str(PROCESSES_EVERY_MS))
        ],
        folder / "ran.txt": ["nvidia-smi", "pmon", "-i", "0", "-s", "u", "-d", "1", "-o", "DT"],
    }


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Write all readings to this folder during the block."""
    folder.mkdir(parents=True, exist_ok=True)
    stopping = threading.Event()
    counter = threading.Thread(target=count_joules, args=(folder / "joules.csv", stopping), daemon=True)
    with contextlib.ExitStack() as opened:
        for path, command in loops(folder).items():
            out = opened.enter_context(path.open("ab"))
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=os.environ | {"TZ": "UTC"})
            opened.callback(process.wait)
            opened.callback(process.terminate)
        counter.start()
        opened.callback(counter.join)
        opened.callback(stopping.set)
        yield


def count_joules(path: Path, stopping: threading.Event) -> None:
    """Record NVML's counter of this GPU's energy, which `nvidia-smi` does not show."""
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    with path.open("a") as out:
        while not stopping.wait(COUNTER_EVERY_S):
            out.write(f"{time.time()},{pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1000}\n")
    pynvml.nvmlShutdown()


def read_back(folder: Path) -> Reading:
    """Read the folder's files."""
    gpu = [gpu_row(cells) for cells in rows(folder / "gpu.csv") if len(cells) == 1 + len(QUERIED)]
    held_rows = [
        ProcessMemory(seconds(at), int(pid), float(size) * (1 << 20))
        for at, pid, size in (cells for cells in rows(folder / "held.csv") if len(cells) == 3)
        if size.replace(".", "").isdigit()
    ]
    counted = [EnergyReading(float(at), float(joules)) for at, joules in rows(folder / "joules.csv")]
    return Reading(gpu, held_rows, list(shares(folder / "ran.txt")), counted)


def rows(path: Path) -> list[list[str]]:
    """Yield the cells of complete lines."""
    complete = path.read_text(errors="replace").rpartition("\n")[0]
    return [[cell.strip() for cell in cells] for cells in csv.reader(complete.splitlines()) if cells]


def gpu_row(cells: Sequence[str]) -> GpuRow:
    at, *values = cells
    fields = {column: cell for (column, _), cell in zip(QUERIED.values(), values, strict=True)}
    return GpuRow(seconds(at), fields, {c: number(fields[c], unit) for c, unit in QUERIED.values() if unit is not None})


def number(word: str, unit: float) -> float | None:
    """Return the number; None for '[N/A]' and the like."""
    try:
        return float(word) * unit
    except ValueError:
        return None


def seconds(at: str) -> float:
    return datetime.strptime(at, "%Y/%m/%d %H:%M:%S.%f").replace(tzinfo=UTC).timestamp()


def shares(path: Path) -> Iterator[KernelShare]:
    """Parse lines such as '20261122 11:20:01 0 4711 C 93 51 - - - - llama-server'; '-' is no share."""
    for line in path.read_text(errors="replace").splitlines():
        day, *fields = line.split() or [""]
        if day.isdigit() and len(fields) > 4 and fields[2].isdigit():
            at = datetime.strptime(f"{day} {fields[0]}", "%Y%m%d %H:%M:%S").replace(tzinfo=UTC).timestamp()
            yield KernelShare(at, int(fields[2]), 0.0 if fields[4] == "-" else float(fields[4]) / 100)
