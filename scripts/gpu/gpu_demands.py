"""Demands on Pitwall's stored GPU samples, compared with `nvidia-smi` output over the same seconds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from scripts.gpu.gpu_stretches import Stretch
from scripts.gpu.smi_reader import GpuRow, Reading

MIB = 1 << 20
MOST_APART: Mapping[str, tuple[float, bool]] = {  # of the means: how far, and whether as a share
    "power_w": (0.05, True),
    "power_limit_w": (0.001, True),
    "sm_clock_mhz": (0.01, True),
    "sm_clock_max_mhz": (0.001, True),
    "memory_clock_mhz": (0.01, True),
    "utilization_ratio": (0.05, False),
    "memory_utilization_ratio": (0.05, False),
    "temperature_c": (1.0, False),
    "memory_temperature_c": (1.0, False),
}
MEMORY = (2 * MIB, False)
SHARE_OF_OTHERS = (0.10, False)
ENERGY = (0.05, True)
OFTEN = 0.1  # of its lines: a reason that nvidia-smi shows as often, a look a second has to have seen


class Demand(NamedTuple):
    """One value reported by Pitwall and by another reader; `limit` describes the allowed difference."""

    about: str
    what: str
    ours: str
    other: str
    limit: str
    is_met: bool


def demands(stretches: Sequence[Stretch], read: Reading) -> list[Demand]:
    """Return one demand per value: over all runs, or for the run with the largest difference."""
    by_demand: dict[str, list[tuple[float, Demand]]] = defaultdict(list)
    for stretch in stretches:
        for apart, demand in of_stretch(stretch, read):
            by_demand[demand.what].append((apart, demand))
    worst = [max(of_one, key=lambda pair: (not pair[1].is_met, pair[0]))[1] for of_one in by_demand.values()]
    return [*of_all(stretches, read), *worst]


def of_all(stretches: Sequence[Stretch], read: Reading) -> Iterator[Demand]:
    """Compare means and joules over all runs: power sampled once a second is too coarse for a single run."""
    lines = [row for stretch in stretches for row in stretch.within(read.gpu)]
    for column, most in MOST_APART.items():
        pitwall_mean = mean(sample[column] for stretch in stretches for sample in stretch.samples)
        yield near("all runs", column, pitwall_mean, mean(row.numbers[column] for row in lines), most)[1]
    ours_j = sum(stretch.energy_j or 0.0 for stretch in stretches)
    smi_j = sum(drawn_j(stretch, read) for stretch in stretches)
    tokens = sum(stretch.tokens for stretch in stretches)
    yield near("all runs", "energy, J, by nvidia-smi's power", ours_j, smi_j, ENERGY)[1]
    yield near("all runs", "tokens per joule, by nvidia-smi's power", tokens / ours_j, tokens / smi_j, ENERGY)[1]


def of_stretch(stretch: Stretch, read: Reading) -> Iterator[tuple[float, Demand]]:
    """Yield the difference and the demand."""
    gpu = stretch.within(read.gpu)
    for column in ("memory_used_bytes", "memory_total_bytes"):
        pitwall_max = max(sample[column] for sample in stretch.samples)
        yield near(stretch.name, column, pitwall_max, max(row.numbers[column] for row in gpu), MEMORY)
    yield from of_words(stretch, gpu)
    yield from of_processes(stretch, read)
    yield from of_energy(stretch, read)


def of_words(stretch: Stretch, gpu: Sequence[GpuRow]) -> Iterator[tuple[float, Demand]]:
    """Compare names, and the reasons for lower clocks."""
    for column in ("gpu_uuid", "gpu_name"):
        pitwall_names = {str(sample[column]) for sample in stretch.samples}
        yield equal(stretch.name, column, pitwall_names, {row.words[column] for row in gpu})
    yield equal(stretch.name, "driver", {str(stretch.driver_version)}, {row.words["driver_version"] for row in gpu})
    masks = [int(row.words["throttle_reasons"], 16) for row in gpu]
    our_bits = bits_of(sample["throttle_reasons"] for sample in stretch.samples)
    shown_bits, often = bits_of(masks), {bit for bit in bits_of(masks) if often_in(bit, masks)}
    is_met = often <= our_bits <= shown_bits
    yield (
        0.0,
        Demand(stretch.name, "throttle bits", hexed(our_bits), hexed(shown_bits), "those often seen, no other", is_met),
    )


def bits_of(masks: Iterable[int | None]) -> set[int]:
    return {1 << n for mask in masks if mask for n in range(32) if mask >> n & 1}


def often_in(bit: int, masks: Sequence[int]) -> bool:
    return sum(bool(mask & bit) for mask in masks) > OFTEN * len(masks)


def hexed(bits: Iterable[int]) -> str:
    return f"0x{sum(bits):x}"


def of_processes(stretch: Stretch, read: Reading) -> Iterator[tuple[float, Demand]]:
    """Compare memory and time of the run's own process and of all others."""
    held_rows, by_moment = stretch.within(read.held_rows), defaultdict(float)
    for row in held_rows:
        by_moment[row.at_s] += 0.0 if row.pid == stretch.pid else row.held_bytes
    own_bytes = max((row.held_bytes for row in held_rows if row.pid == stretch.pid), default=None)
    for column, other_value in (
        ("process_memory_bytes", own_bytes),
        ("other_memory_bytes", max(by_moment.values(), default=None)),
    ):
        pitwall_bytes = max((s[column] for s in stretch.samples if s[column] is not None), default=None)
        yield near(stretch.name, column, pitwall_bytes, other_value, MEMORY)
    ran = stretch.within(read.ran)
    seconds = len({row.at_s for row in ran})
    others_share = sum(row.ratio for row in ran if row.pid != stretch.pid) / seconds if seconds else None
    pitwall_bytes = mean(sample["other_utilization_ratio"] for sample in stretch.samples)
    yield near(stretch.name, "other_utilization_ratio", pitwall_bytes, others_share, SHARE_OF_OTHERS)


def of_energy(stretch: Stretch, read: Reading) -> Iterator[tuple[float, Demand]]:
    """Compare joules, and tokens per joule, with NVML's counter."""
    counted = at(read, stretch.ended_s) - at(read, stretch.began_s)
    yield near(stretch.name, "energy, J, by NVML's counter", stretch.energy_j, counted, ENERGY)
    per_j = stretch.tokens / counted
    yield near(stretch.name, "tokens per joule, by NVML's counter", stretch.tokens_per_j, per_j, ENERGY)


def drawn_j(stretch: Stretch, read: Reading) -> float:
    """Return the integral of the power that nvidia-smi showed."""
    powers = [(row.at_s, row.numbers["power_w"]) for row in stretch.within(read.gpu)]
    known_powers = [(at_s, watts) for at_s, watts in powers if watts is not None]
    return (stretch.ended_s - stretch.began_s) * integral(known_powers) / (known_powers[-1][0] - known_powers[0][0])


def integral(points: Sequence[tuple[float, float]]) -> float:
    return sum((a + b) / 2 * (to - since) for (since, a), (to, b) in pairwise(points))


def at(read: Reading, second: float) -> float:
    """Return the counter at this time, interpolated between its nearest readings."""
    after = next(n for n, count in enumerate(read.counted) if count.at_s >= second)
    (since, low), (to, high) = read.counted[max(after - 1, 0)], read.counted[after]
    return high if to == since else low + (high - low) * (second - since) / (to - since)


def near(
    about: str, text: str, pitwall_value: float | None, smi_value: float | None, most: tuple[float, bool]
) -> tuple[float, Demand]:
    """Compare two numbers with a tolerance; if the other reader has none, Pitwall must have none either."""
    limit, is_share = most
    limit_text = f"{limit:.1%}" if is_share else formatted_bytes(limit)
    if pitwall_value is None or smi_value is None:
        return 0.0, Demand(
            about,
            text,
            formatted_bytes(pitwall_value),
            formatted_bytes(smi_value),
            limit_text,
            pitwall_value is None and smi_value is None,
        )
    apart = abs(pitwall_value - smi_value) / (abs(smi_value) or 1.0) if is_share else abs(pitwall_value - smi_value)
    return apart / limit, Demand(
        about, text, formatted_bytes(pitwall_value), formatted_bytes(smi_value), limit_text, apart <= limit
    )


def equal(about: str, text: str, pitwall_values: set[str], smi_values: set[str]) -> tuple[float, Demand]:
    return 0.0, Demand(
        about,
        text,
        ", ".join(sorted(pitwall_values)),
        ", ".join(sorted(smi_values)),
        "equal",
        pitwall_values == smi_values,
    )


def mean(values: Iterable[float | None]) -> float | None:
    known_values = [value for value in values if value is not None]
    return fmean(known_values) if known_values else None


def formatted_bytes(number: float | None) -> str:
    if number is None:
        return "not told"
    return f"{number / MIB:.0f} MiB" if number >= MIB else f"{number:.4g}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def demand_table(demand_rows: Sequence[Demand]) -> str:
    head = ["thing", "of", "Pitwall", "the other", "at most", "met"]
    return table(head, [[d.what, d.about, d.ours, d.other, d.limit, "yes" if d.is_met else "NO"] for d in demand_rows])
