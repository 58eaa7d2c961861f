"""How long the demo's answers are: shorter on a machine that is slow or busy, so that it takes about as long."""

from __future__ import annotations

import statistics
import time

FULL_TOKENS = 600  # a request: on two quiet cores it lasts longer than the two looks that a speed needs
FEWEST_TOKENS = 400
ROUND_S = 0.028  # one round of `_work` by a quiet core of the machine on which the full length takes two minutes
ROUNDS = 5
STEPS = 400_000


def tokens_for_this_machine(full: int = FULL_TOKENS) -> int:
    """Tokens a request, in hundreds; by the clock, for other work slows the demo's servers down as it does this."""
    return tokens_at(statistics.median(_round_s() for _ in range(ROUNDS)), full)


def tokens_at(round_s: float, full: int = FULL_TOKENS) -> int:
    """At a core's pace, in seconds a round."""
    fitting = int(full * min(1.0, ROUND_S / round_s) // 100) * 100
    return max(min(FEWEST_TOKENS, full), fitting if round_s > 1.25 * ROUND_S else full)


def _round_s() -> float:
    begun = time.perf_counter()
    value = 1
    for step in range(STEPS):
        value = (value * 31 + step) & 0xFFFFFFFF
    return time.perf_counter() - begun
