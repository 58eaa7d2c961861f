"""Gain from speculation: tokens per step as a function of the draft tokens k, and their cost.

Formulas: expected tokens per step `1 + sum p_i`, p_i the share of all drafts whose first i tokens were accepted: shares
are not multiplied, and those measured at the largest k apply to every smaller k. With equal acceptance probability for
each token: `(1 - a^(k+1)) / (1 - a)` (Leviathan et al. 2023). Speed-up `tokens per step / c`, c the step's time over
that of a plain step; so c is the length at which speculation breaks even.
Caveats: p_i are assumed not to change at a smaller k; the intervals assume independent drafts, which texts do not give,
so they are too narrow; if not every step drafts, tokens per step is not the acceptance length.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

RESAMPLES = 1000
LEVEL = 0.95


class BestK(NamedTuple):
    """The k with the highest predicted speed, and its range in resamples of the drafts."""

    k: int
    low: int
    high: int
    speedup: float  # over k = 0, as predicted
    curve: tuple[float, ...]  # predicted speed over k = 0, 1, 2, ..., relative to k = 0


def chance_tokens(acceptance: float, k: int) -> float:
    """Return tokens per step if every draft token is accepted independently with this probability."""
    return float(sum(acceptance**i for i in range(k + 1)))


def chance_acceptance(tokens_per_step: float, k: int) -> float:
    """Return the probability at which `chance_tokens` gives this many tokens per step; ValueError if none does."""
    if not 1.0 <= tokens_per_step <= k + 1:
        raise ValueError(f"{k} draft tokens give 1 to {k + 1} tokens per step, never {tokens_per_step:g}.")
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if chance_tokens(middle, k) < tokens_per_step else (low, middle)
    return (low + high) / 2


def predicted_break_even(k: int, draft_cost: float) -> float:
    """Return the tokens per step at which speculation pays: a step takes one plain step and k draft passes.

    `draft_cost`: one draft pass over one plain step, by bytes read. Verifying k + 1 tokens is assumed to be free.
    """
    return 1.0 + k * draft_cost


def tokens_by_k(per_position: Sequence[float]) -> tuple[float, ...]:
    """Return the expected tokens per step with k = 0, 1, 2, ... draft tokens, given the shares accepted up to each."""
    return tuple(accumulate(accumulate(per_position, min), initial=1.0))


def best_k(per_position: Sequence[float], draft_cost: float, drafts: int | None = None, seed: int = 1) -> BestK:
    """Return the best number of draft tokens up to the measured k; `drafts`: their count, None: no interval.

    Shares cannot grow with the position: each is capped by the earlier ones.
    """
    falling = tuple(accumulate(per_position, min))
    curve = _speeds(np.array([falling]), draft_cost)[0]
    best = int(np.argmax(curve))
    low, high = _range_of_best(falling, draft_cost, drafts, seed) if drafts else (0, len(falling))
    return BestK(best, low, high, float(curve[best]), tuple(float(speed) for speed in curve))


def _range_of_best(falling: Sequence[float], draft_cost: float, drafts: int, seed: int) -> tuple[int, int]:
    """Return the range of the best k over resamples of the accepted draft lengths."""
    stopped_at = -np.diff(np.array([1.0, *falling, 0.0]))
    resampled = np.random.default_rng(seed).multinomial(drafts, stopped_at / stopped_at.sum(), RESAMPLES) / drafts
    shares = np.cumsum(resampled[:, ::-1], axis=1)[:, ::-1][:, 1:]
    best = np.argmax(_speeds(shares, draft_cost), axis=1)
    low, high = np.quantile(best, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="nearest")
    return int(low), int(high)


def _speeds(shares: np.ndarray, draft_cost: float) -> np.ndarray:
    """Return tokens per step over the step's duration, for k = 0, 1, ... in each row."""
    tokens = np.cumsum(np.hstack([np.ones((len(shares), 1)), shares]), axis=1)
    speeds: np.ndarray = tokens / (1.0 + np.arange(tokens.shape[1]) * draft_cost)
    return speeds
