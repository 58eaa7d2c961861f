"""Test of whether conversations that were not tried lose less than a margin, for any distribution of their losses.

Conversations may fail as a whole, and the few that were tried may be those that do not. The test multiplies, over the
conversations, 1 + bet * (margin - loss). If conversations lose the margin or more on average, the expected product is
at most 1, so it exceeds 1 / (1 - level) with a probability of at most 1 - level (Markov; Waudby-Smith and Ramdas,
*Journal of the Royal Statistical Society B* 86, 2024), also if one looks after every conversation (Ville).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, prod
from statistics import fmean

LEVEL = 0.95
BET_SHARES = (0.25, 0.5, 0.75, 0.9, 1.0)  # of the highest bet, which a conversation that fails as a whole makes 0
MOST_CONVERSATIONS = 10_000


def is_loss_below(losses: Sequence[float], margin: float, level: float = LEVEL) -> bool:
    """Whether losses (0..1) of conversations show that their mean over all conversations is below the margin."""
    products = (prod(_factor(loss, bet, margin) for loss in losses) for bet in _bets(margin))
    return fmean(products) >= 1 / (1 - level) - 1e-9


def conversations_needed(losses: Sequence[float], margin: float, level: float = LEVEL) -> int | None:
    """Return how many conversations show it if they all lose as these do; None if no number that can be tried does."""
    if not losses:
        return None
    rates = []
    for bet in _bets(margin):
        factors = [_factor(loss, bet, margin) for loss in losses]
        if min(factors) > 0:
            rates.append(fmean(map(log, factors)))
    limit, bets = 1 / (1 - level) - 1e-9, len(BET_SHARES)
    if not rates or max(rates) <= 0:
        return None
    least = max(1, round(log(limit) / max(rates)) - 1)
    numbers = range(least, MOST_CONVERSATIONS)
    return next((n for n in numbers if sum(exp(min(50.0, n * rate)) for rate in rates) / bets >= limit), None)


def _factor(loss: float, bet: float, margin: float) -> float:
    return max(0.0, 1 + bet * (margin - loss))


def _bets(margin: float) -> list[float]:
    return [share / (1 - margin) for share in BET_SHARES]
