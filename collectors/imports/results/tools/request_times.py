"""Computes what the times of single requests say of a load."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate


def most_in_flight(requests: Iterable[tuple[float, float]]) -> int:
    """Return the largest number of requests in flight at once by their starts and durations in seconds; at least 1."""
    steps = [step for start_s, duration_s in requests for step in ((start_s, 1), (start_s + duration_s, -1))]
    return max(accumulate(change for _, change in sorted(steps)), default=0) or 1
