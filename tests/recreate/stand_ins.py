"""Stand-ins of exact pace: servers whose true speed is a number that a document prints. None of them is an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np

from domain import JsonValue
from tests.known_truth.paced_server import PacedServer, RequestPace
from tests.known_truth.played_run import PlayedArm
from workloads.plan import Phase, PlannedRequest

Pace = Callable[[Phase, PlannedRequest, int], RequestPace]


def stand_in(name: str, pace: Pace, workload: str, params: dict[str, JsonValue], drafts: int = 0) -> PlayedArm:
    """Return an arm that answers exactly at this pace; its name is what tells its command from others."""
    server = PacedServer(start_sd=0.0, pace_of=pace, drafts=drafts)
    return PlayedArm(name, server, workload, params, has_results=True)


def spread(mean: float, sd: float, number: int, is_harmonic: bool = False) -> list[float]:
    """Return values of exactly this mean and population sd; harmonic: of rates over equal amounts of work."""
    if number == 1:
        return [mean]
    places = np.linspace(-1.0, 1.0, number)
    offsets = sd * places / float(np.std(places))
    if not is_harmonic:
        return [float(value) for value in mean + offsets]
    low, high = max(mean, float(-offsets.min()) * (1 + 1e-6)), mean + 4 * sd + 1e-9
    for _ in range(80):
        middle = (low + high) / 2
        is_below = number / float(np.sum(1 / (middle + offsets))) < mean
        low, high = (middle, high) if is_below else (low, middle)
    return [float(value) for value in low + offsets]


def population_sd(sample_sd: float, number: int) -> float:
    """Return the sd as llama-benchy computes it, from that of a sample."""
    return sample_sd * sqrt((number - 1) / number)


def step_for(tokens: int, seconds: float, ttft_s: float) -> float:
    """Return the seconds of a step with which an answer of so many tokens ends after these seconds."""
    return (seconds - ttft_s) / (tokens - 1)


def among(values: Sequence[float], number: int) -> float:
    """Return the value of a request of a measured phase, in their order."""
    return values[number % len(values)]
