"""What Pitwall stored of a GPU beside what `nvidia-smi` wrote over the same seconds: each demand with what was seen."""

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
    """One thing reported by Pitwall and by another; `limit` says in words what may lie between them."""

    about: str
    what: str
    ours: str
    other: str
    limit: str
    is_met: bool


def demands(stretches: Sequence[Stretch], read: Reading) -> list[Demand]:
    """One for each thing: over all runs, or of the run in which the two are furthest apart."""
    found: dict[str, list[tuple[float, Demand]]] = defaultdict(list)
    for stretch in stretches:
        for apart, demand in of_stretch(stretch, read):
            found[demand.what].append((apart, demand))
    worst = [max(of_one, key=lambda pair: (not pair[1].is_met, pair[0]))[1] for of_one in found.values()]
    return [*of_all(stretches, read), *worst]


def of_all(stretches: Sequence[Stretch], read: Reading) -> Iterator[Demand]:
    """Means, and joules: a look a second at power that changes ten times a second says little of a single run."""
    lines = [row for one in stretches for row in one.within(read.gpu)]
    for column, most in MOST_APART.items():
        ours = mean(sample[column] for one in stretches for sample in one.samples)
        yield near("all runs", column, ours, mean(row.numbers[column] for row in lines), most)[1]
    ours_j = sum(one.energy_j or 0.0 for one in stretches)
    drawn = sum(drawn_j(one, read) for one in stretches)
    tokens = sum(one.tokens for one in stretches)
    yield near("all runs", "energy, J, by nvidia-smi's power", ours_j, drawn, ENERGY)[1]
    yield near("all runs", "tokens per joule, by nvidia-smi's power", tokens / ours_j, tokens / drawn, ENERGY)[1]


def of_stretch(stretch: Stretch, read: Reading) -> Iterator[tuple[float, Demand]]:
    """How far apart, and the demand."""
    gpu = stretch.within(read.gpu)
    for column in ("memory_used_bytes", "memory_total_bytes"):
        ours = max(sample[column] for sample in stretch.samples)
        yield near(stretch.name, column, ours, max(row.numbers[column] for row in gpu), MEMORY)
    yield from of_words(stretch, gpu)
    yield from of_processes(stretch, read)
    yield from of_energy(stretch, read)


def of_words(stretch: Stretch, gpu: Sequence[GpuRow]) -> Iterator[tuple[float, Demand]]:
    """Names, and the reasons for lower clocks."""
    for column in ("gpu_uuid", "gpu_name"):
        ours = {str(sample[column]) for sample in stretch.samples}
        yield equal(stretch.name, column, ours, {row.words[column] for row in gpu})
    yield equal(stretch.name, "driver", {str(stretch.driver_version)}, {row.words["driver_version"] for row in gpu})
    masks = [int(row.words["throttle_reasons"], 16) for row in gpu]
    our_bits = bits_of(sample["throttle_reasons"] for sample in stretch.samples)
    seen, often = bits_of(masks), {bit for bit in bits_of(masks) if often_in(bit, masks)}
    is_met = often <= our_bits <= seen
    yield (
        0.0,
        Demand(stretch.name, "throttle bits", hexed(our_bits), hexed(seen), "those often seen, no other", is_met),
    )


def bits_of(masks: Iterable[int | None]) -> set[int]:
    return {1 << n for mask in masks if mask for n in range(32) if mask >> n & 1}


def often_in(bit: int, masks: Sequence[int]) -> bool:
    return sum(bool(mask & bit) for mask in masks) > OFTEN * len(masks)


def hexed(bits: Iterable[int]) -> str:
    return f"0x{sum(bits):x}"


def of_processes(stretch: Stretch, read: Reading) -> Iterator[tuple[float, Demand]]:
    """Memory and time of the run's own process and of all others."""
    held, by_moment = stretch.within(read.held), defaultdict(float)
    for row in held:
        by_moment[row.at_s] += 0.0 if row.pid == stretch.pid else row.held_bytes
    own = max((row.held_bytes for row in held if row.pid == stretch.pid), default=None)
    for column, other in (("process_memory_bytes", own), ("other_memory_bytes", max(by_moment.values(), default=None))):
        ours = max((s[column] for s in stretch.samples if s[column] is not None), default=None)
        yield near(stretch.name, column, ours, other, MEMORY)
    ran = stretch.within(read.ran)
    seconds = len({row.at_s for row in ran})
    others = sum(row.ratio for row in ran if row.pid != stretch.pid) / seconds if seconds else None
    ours = mean(sample["other_utilization_ratio"] for sample in stretch.samples)
    yield near(stretch.name, "other_utilization_ratio", ours, others, SHARE_OF_OTHERS)


def of_energy(stretch: Stretch, read: Reading) -> Iterator[tuple[float, Demand]]:
    """Joules, and tokens over them, by NVML's counter."""
    counted = at(read, stretch.ended_s) - at(read, stretch.began_s)
    yield near(stretch.name, "energy, J, by NVML's counter", stretch.energy_j, counted, ENERGY)
    per_j = stretch.tokens / counted
    yield near(stretch.name, "tokens per joule, by NVML's counter", stretch.tokens_per_j, per_j, ENERGY)


def drawn_j(stretch: Stretch, read: Reading) -> float:
    """The integral of the power that nvidia-smi showed."""
    powers = [(row.at_s, row.numbers["power_w"]) for row in stretch.within(read.gpu)]
    known = [(at_s, watts) for at_s, watts in powers if watts is not None]
    return (stretch.ended_s - stretch.began_s) * integral(known) / (known[-1][0] - known[0][0])


def integral(points: Sequence[tuple[float, float]]) -> float:
    return sum((a + b) / 2 * (to - since) for (since, a), (to, b) in pairwise(points))


def at(read: Reading, second: float) -> float:
    """The counter then, on the line between its two nearest readings."""
    after = next(n for n, one in enumerate(read.counted) if one.at_s >= second)
    (since, low), (to, high) = read.counted[max(after - 1, 0)], read.counted[after]
    return high if to == since else low + (high - low) * (second - since) / (to - since)


def near(
    about: str, what: str, ours: float | None, other: float | None, most: tuple[float, bool]
) -> tuple[float, Demand]:
    """Two numbers that may be so far apart; where the other reader has none, neither may we."""
    limit, is_share = most
    words = f"{limit:.1%}" if is_share else shown(limit)
    if ours is None or other is None:
        return 0.0, Demand(about, what, shown(ours), shown(other), words, ours is None and other is None)
    apart = abs(ours - other) / (abs(other) or 1.0) if is_share else abs(ours - other)
    return apart / limit, Demand(about, what, shown(ours), shown(other), words, apart <= limit)


def equal(about: str, what: str, ours: set[str], other: set[str]) -> tuple[float, Demand]:
    return 0.0, Demand(about, what, ", ".join(sorted(ours)), ", ".join(sorted(other)), "equal", ours == other)


def mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def shown(number: float | None) -> str:
    if number is None:
        return "not told"
    return f"{number / MIB:.0f} MiB" if number >= MIB else f"{number:.4g}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def demand_table(found: Sequence[Demand]) -> str:
    head = ["thing", "of", "Pitwall", "the other", "at most", "met"]
    return table(head, [[d.what, d.about, d.ours, d.other, d.limit, "yes" if d.is_met else "NO"] for d in found])
