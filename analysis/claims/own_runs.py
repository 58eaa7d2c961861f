"""What one would claim wrongly of runs of one's own: a pool too equal or too small, a factor that was not measured."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from analysis.comparison.arms import Arm
from analysis.comparison.facts import RunFacts
from analysis.verdict.judgement import Judgement
from errors import PitwallError

WRITTEN = re.compile(r"(?P<ratio>\d{1,4}(?:\.\d{1,6})?)\s*[x×]?")

# What decides how many tokens a KV pool has: equal pools of runs that differ in one of them are suspicious.
SIZING = ("quantization", "kv_cache_dtype", "gpu_memory_fraction", "max_model_len", "tensor_parallel", "dtype")


class Twin(NamedTuple):
    """Two arms whose pools have equally many tokens, and the settings in which they differ."""

    first: str
    second: str
    tokens: int
    differing: tuple[str, ...]


class ClaimStanding(StrEnum):
    """How a claimed ratio stands against what was measured."""

    CARRIED = "carried"
    OVERSTATED = "overstated"  # nearer to 1 than claimed
    UNDERSTATED = "understated"
    IN_NOISE = "in_noise"  # the interval holds 1
    SEEN_ONCE = "seen_once"  # there is no interval


def pool_twins(arms: Sequence[Arm]) -> list[Twin]:
    """Each further arm whose KV tokens equal the first's to the last digit although it is configured otherwise."""
    if not arms:
        return []
    found = [_twin(arms[0], other) for other in arms[1:]]
    return [twin for twin in found if twin]


def _twin(first: Arm, second: Arm) -> Twin | None:
    one, other = first.runs[0], second.runs[0]
    if one.kv_cache_tokens is None or one.kv_cache_tokens != other.kv_cache_tokens:
        return None
    differing = [name for name in SIZING if one.served.settings.get(name) != other.served.settings.get(name)]
    differing += ["model"] if one.served.model != other.served.model else []
    return Twin(first.name, second.name, one.kv_cache_tokens, tuple(differing)) if differing else None


def is_context_beyond_pool(run: RunFacts) -> bool:
    """Whether one request of full length does not fit: by the concurrency that the log states, else by its tokens."""
    if run.full_length_requests is not None:
        return run.full_length_requests < 1.0
    context = run.served.settings.get("max_model_len")
    return run.kv_cache_tokens is not None and context is not None and run.kv_cache_tokens < int(context)


class UnknownClaimError(PitwallError):
    """A text that is no ratio."""


def parse_claim(text: str) -> float:
    """The ratio that '2x', '1.64×' or '0.9' says; raises UnknownClaimError."""
    found = WRITTEN.fullmatch(text.strip())
    ratio = float(found["ratio"]) if found else 0.0
    if ratio <= 0.0:
        raise UnknownClaimError(f"{text[:40]!r} is no ratio to claim: it is written like 2x or 1.64.")
    return ratio


def claim_standing(claimed: float, judged: Judgement, margin: float) -> ClaimStanding:
    """A ratio, other over baseline, that somebody claims; within the interval, or nearer than the margin, it stands."""
    if judged.interval is None:
        return ClaimStanding.SEEN_ONCE
    low, high = judged.interval
    if low <= 1.0 <= high:
        return ClaimStanding.IN_NOISE
    if low / (1.0 + margin) <= claimed <= high * (1.0 + margin):
        return ClaimStanding.CARRIED
    is_above = claimed > high
    return ClaimStanding.OVERSTATED if is_above == (judged.ratio > 1.0) else ClaimStanding.UNDERSTATED
