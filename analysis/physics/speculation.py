"""What speculation gains: tokens a step over the draft tokens k, and what they have to pay for.

Formulas: expected tokens per step `1 + sum p_i`, p_i the share of all drafts whose first i tokens were accepted: shares
are not multiplied, and those measured at the largest k serve every smaller k. If each token were accepted by chance
alike: `(1 - a^(k+1)) / (1 - a)` (Leviathan et al. 2023). Speed-up `tokens per step / c`, c the step's time over that of
a plain step; so c is the length at which speculation breaks even.
Caveats: a smaller k is taken to leave p_i as they are; the intervals take drafts as independent, and texts are not, so
they are too narrow; where not every step drafts, tokens per step is not the acceptance length.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

RESAMPLES = 1000
LEVEL = 0.95


class BestK(NamedTuple):
    """The k of the highest predicted speed, and between which values it came out in resamples of the drafts."""

    k: int
    low: int
    high: int
    speedup: float  # over k = 0, as predicted
    curve: tuple[float, ...]  # predicted speed over k = 0, 1, 2, ..., relative to k = 0


def chance_tokens(acceptance: float, k: int) -> float:
    """Tokens per step if every draft token were accepted with this probability, whatever came before it."""
    return float(sum(acceptance**i for i in range(k + 1)))


def chance_acceptance(tokens_per_step: float, k: int) -> float:
    """The probability at which `chance_tokens` gives this many tokens per step; ValueError where none does."""
    if not 1.0 <= tokens_per_step <= k + 1:
        raise ValueError(f"{k} draft tokens give 1 to {k + 1} tokens per step, never {tokens_per_step:g}.")
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if chance_tokens(middle, k) < tokens_per_step else (low, middle)
    return (low + high) / 2


def predicted_break_even(k: int, draft_cost: float) -> float:
    """The tokens per step at which speculation pays: a step lasts as long as a plain one and k passes of the draft.

    `draft_cost`: one pass of the draft over one plain step, by bytes read. Verifying k + 1 tokens is taken to be free.
    """
    return 1.0 + k * draft_cost


def best_k(per_position: Sequence[float], draft_cost: float, drafts: int | None = None, seed: int = 1) -> BestK:
    """The best number of draft tokens up to what was measured; `drafts` were counted, None: no interval is known.

    Shares that grow with the position cannot be: the earlier one holds.
    """
    falling = tuple(accumulate(per_position, min))
    curve = _speeds(np.array([falling]), draft_cost)[0]
    best = int(np.argmax(curve))
    low, high = _range_of_best(falling, draft_cost, drafts, seed) if drafts else (0, len(falling))
    return BestK(best, low, high, float(curve[best]), tuple(float(one) for one in curve))


def _range_of_best(falling: Sequence[float], draft_cost: float, drafts: int, seed: int) -> tuple[int, int]:
    """Each resample draws how far every draft got, from how far they got in truth."""
    stopped_at = -np.diff(np.array([1.0, *falling, 0.0]))
    drawn = np.random.default_rng(seed).multinomial(drafts, stopped_at / stopped_at.sum(), RESAMPLES) / drafts
    shares = np.cumsum(drawn[:, ::-1], axis=1)[:, ::-1][:, 1:]
    best = np.argmax(_speeds(shares, draft_cost), axis=1)
    low, high = np.quantile(best, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="nearest")
    return int(low), int(high)


def _speeds(shares: np.ndarray, draft_cost: float) -> np.ndarray:
    """Tokens per step over the step's length, for k = 0 ... of each row."""
    tokens = np.cumsum(np.hstack([np.ones((len(shares), 1)), shares]), axis=1)
    speeds: np.ndarray = tokens / (1.0 + np.arange(tokens.shape[1]) * draft_cost)
    return speeds
