"""The length of the demo's answers: shorter on a slow or busy machine, so that the demo takes about as long."""

from __future__ import annotations

import statistics
import time

FULL_TOKENS = 600  # per request: on two idle cores it lasts longer than the two samples that a speed needs
FEWEST_TOKENS = 400
ROUND_S = 0.028  # one `_round_s` on an idle core of a machine on which the full length takes two minutes
ROUNDS = 5
STEPS = 400_000


def tokens_for_this_machine(full: int = FULL_TOKENS) -> int:
    """Return tokens per request, in hundreds, from a timed loop: other work slows the demo's servers down likewise."""
    return tokens_at(statistics.median(_round_s() for _ in range(ROUNDS)), full)


def tokens_at(round_s: float, full: int = FULL_TOKENS) -> int:
    """Return tokens per request for a core that needs `round_s` seconds per round."""
    scaled = int(full * min(1.0, ROUND_S / round_s) // 100) * 100
    return max(min(FEWEST_TOKENS, full), scaled if round_s > 1.25 * ROUND_S else full)


def _round_s() -> float:
    started = time.perf_counter()
    value = 1
    for step in range(STEPS):
        value = (value * 31 + step) & 0xFFFFFFFF
    return time.perf_counter() - started
