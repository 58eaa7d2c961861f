"""Checks of claims about the user's own runs: suspiciously equal or too small KV pools, ratios not measured."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from analysis.comparison.arms import Arm
from analysis.comparison.facts import RunFacts
from analysis.verdict.judgement import Judgement
from errors import PitwallError

CLAIM_FORMAT = re.compile(r"(?P<ratio>\d{1,4}(?:\.\d{1,6})?)\s*[x×]?")

# Settings that determine a KV pool's tokens: equal pools of runs that differ in one of them are suspicious.
SIZING_SETTINGS = ("quantization", "kv_cache_dtype", "gpu_memory_fraction", "max_model_len", "tensor_parallel", "dtype")


class PoolTwin(NamedTuple):
    """Two arms with equal KV pool tokens, and the settings in which they differ."""

    first: str
    second: str
    tokens: int
    differing: tuple[str, ...]


class ClaimStatus(StrEnum):
    """Status of a claimed ratio compared with the measurement."""

    CARRIED = "carried"
    OVERSTATED = "overstated"  # measured nearer to 1 than claimed
    UNDERSTATED = "understated"
    OPPOSITE = "opposite"  # claimed on the other side of 1
    IN_NOISE = "in_noise"  # the interval contains 1
    SEEN_ONCE = "seen_once"  # no interval


def pool_twins(arms: Sequence[Arm]) -> list[PoolTwin]:
    """Return each further arm whose KV tokens equal the first's exactly although its configuration differs."""
    if not arms:
        return []
    twins = [_twin(arms[0], arm) for arm in arms[1:]]
    return [twin for twin in twins if twin]


def _twin(first: Arm, second: Arm) -> PoolTwin | None:
    first_run, second_run = first.runs[0], second.runs[0]
    if (
        first_run.served.kv_cache_tokens is None
        or first_run.served.kv_cache_tokens != second_run.served.kv_cache_tokens
    ):
        return None
    differing = [
        name for name in SIZING_SETTINGS if first_run.served.settings.get(name) != second_run.served.settings.get(name)
    ]
    differing += ["model"] if first_run.served.model != second_run.served.model else []
    return PoolTwin(first.name, second.name, first_run.served.kv_cache_tokens, tuple(differing)) if differing else None


def is_context_beyond_pool(run: RunFacts) -> bool:
    """Whether not even one full-length request fits, by the log's concurrency, else by the pool's tokens."""
    if run.full_length_requests is not None:
        return run.full_length_requests < 1.0
    context = run.served.settings.get("max_model_len")
    return run.served.kv_cache_tokens is not None and context is not None and run.served.kv_cache_tokens < int(context)


class UnknownClaimError(PitwallError):
    """A text that is not a ratio."""


def parse_claim(text: str) -> float:
    """Parse a ratio such as '2x', '1.64×' or '0.9'; raises UnknownClaimError."""
    match = CLAIM_FORMAT.fullmatch(text.strip())
    ratio = float(match["ratio"]) if match else 0.0
    if ratio <= 0.0:
        raise UnknownClaimError(f"{text[:40]!r} is not a valid ratio: write it like 2x or 1.64.")
    return ratio


def claim_status(claimed: float, judgement: Judgement, margin: float) -> ClaimStatus:
    """Judge a claimed ratio, contender over baseline; within the interval widened by the margin it is carried."""
    if judgement.interval is None:
        return ClaimStatus.SEEN_ONCE
    low, high = judgement.interval
    if low <= 1.0 <= high:
        return ClaimStatus.IN_NOISE
    if low / (1.0 + margin) <= claimed <= high * (1.0 + margin):
        return ClaimStatus.CARRIED
    if (claimed - 1.0) * (judgement.ratio - 1.0) < 0:
        return ClaimStatus.OPPOSITE
    is_above = claimed > high
    return ClaimStatus.OVERSTATED if is_above == (judgement.ratio > 1.0) else ClaimStatus.UNDERSTATED
