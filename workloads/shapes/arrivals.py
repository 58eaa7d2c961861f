"""Send times of open-loop requests: at a constant rate, at random (Poisson), or in bursts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate


def arrival_times(seed: int, rate_rps: float, burstiness: float, count: int) -> list[float]:
    """Return the send times in seconds after the start, the first at 0.

    Gaps are drawn from a gamma distribution of mean 1 / rate and shape `burstiness`: 1 is a Poisson process, below 1
    comes in bursts, above 1 is more even (vLLM's `--burstiness` means the same); 0 is a constant rate.
    """
    rng = random.Random(f"{seed} arrivals")
    gaps = (_gap(rng, rate_rps, burstiness) for _ in range(count - 1))
    return [round(at_s, 6) for at_s in accumulate(gaps, initial=0.0)]


def _gap(rng: random.Random, rate_rps: float, burstiness: float) -> float:
    return 1 / rate_rps if burstiness == 0 else rng.gammavariate(burstiness, 1 / (rate_rps * burstiness))


def burst_times(seed: int, rate_rps: float, size: int, count: int) -> Iterator[float]:
    """Yield send times of bursts of `size` simultaneous requests, at random with this mean rate."""
    starts = arrival_times(seed, rate_rps / size, 1.0, -(-count // size))
    return (starts[number // size] for number in range(count))
