"""Predicts speeds at other numbers of draft tokens k from measured ones: bounds, and the values that cannot win.

Speed = steps/s x tokens per step. For a measured k with shares q_i of all steps in which the first i draft tokens were
accepted (a step without a draft accepts none):

- Tokens per step at a smaller k are at least 1 + q_1 + ... + q_k, reached if acceptance is equally likely everywhere.
  Texts with easy passages give more, because a smaller k makes more of its steps there: at most E[A + 1] / E[(A + 1) /
  (min(A, k) + 1)], where A is the number of accepted tokens, reached if each passage stays as easy as it is.
- A step of a smaller k is no slower: steps/s at k are at least those of a larger k, and at most those of a smaller one.
- A step of a smaller k costs no less per token: steps/s rise at most by (larger k + 1) / (k + 1), or as assumed.

An upper bound counts against the best only with `slack` for the scatter of single starts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from analysis.evidence.drafting import Shares

SD_OF_A_START = 0.03  # minimum assumed sd of the logarithm of one start's value
ONE_SIDED_Z = 1.645  # 5 %


@dataclass(frozen=True, slots=True)
class MeasuredK:
    """A measured arm: its k, its speed, and its shares by kind of prompt, each () without drafting."""

    name: str
    k: int
    log_speed: float  # mean over its starts; higher is better
    shares: tuple[Shares, ...] = ()  # empty: unknown

    @property
    def log_tokens(self) -> float:
        return fmean(math.log(fewest_tokens(shares, self.k)) for shares in self.shares)


@dataclass(frozen=True, slots=True)
class Bound:
    """A logarithm of a speed, and the arm that it is derived from."""

    log_speed: float
    arm: str


@dataclass(frozen=True, slots=True)
class Prediction:
    """Bounds on the speed of an arm that did not run; None: unbounded."""

    low: Bound | None = None
    high: Bound | None = None


def fewest_tokens(shares: Sequence[float], k: int) -> float:
    """Return tokens per step at k, up to the drafted number, if acceptance is equally likely at every step."""
    return 1.0 + sum(shares[:k])


def most_tokens(shares: Sequence[float], k: int) -> float:
    """Return tokens per step at k if easy passages stay easy: a smaller k makes more of its steps there."""
    reached = [1.0, *shares]
    exactly = [share - after for share, after in zip(reached, [*shares, 0.0], strict=True)]
    tokens = sum(share * (accepted + 1) for accepted, share in enumerate(exactly))
    steps = sum(share * (accepted + 1) / (min(accepted, k) + 1) for accepted, share in enumerate(exactly))
    return tokens / steps


def predict(k: int, measured: Sequence[MeasuredK], most_step_gain: float | None = None) -> Prediction:
    """Return the tightest bounds on the speed at k.

    most_step_gain: assumed maximum of any other k's steps/s over those of the largest k, if any.
    """
    drafted = [arm for arm in measured if arm.shares and arm.k > k]
    if not drafted:
        return Prediction()
    largest = max(drafted, key=lambda arm: arm.k)
    most_log_tokens = fmean(math.log(most_tokens(shares, k)) for shares in largest.shares)
    fewest_log_tokens = fmean(math.log(fewest_tokens(shares, k)) for shares in largest.shares)
    lows = [Bound(arm.log_speed - arm.log_tokens + fewest_log_tokens, arm.name) for arm in drafted]
    highs = [
        Bound(arm.log_speed - arm.log_tokens + most_log_tokens + _step_gain(arm, k, largest, most_step_gain), arm.name)
        for arm in measured
        if arm.shares
    ]
    bounds = max(lows, key=_speed), min(highs, key=_speed)
    return Prediction(*sorted(bounds, key=_speed))  # contradicting runs leave everything between them plausible


def _speed(bound: Bound) -> float:
    return bound.log_speed


def _step_gain(arm: MeasuredK, k: int, largest: MeasuredK, most_step_gain: float | None) -> float:
    """Return the log of the largest ratio of steps/s at k to those of the arm."""
    if arm.k <= k:
        return 0.0
    by_tokens = math.log((arm.k + 1) / (k + 1))
    assumed = math.log(most_step_gain) if most_step_gain and arm is largest else math.inf
    return min(by_tokens, assumed)


def cannot_be_best(predicted: Mapping[str, Prediction], best: MeasuredK, slack: float) -> list[str]:
    """Return the arms whose highest plausible speed is below the best measured one, the least promising first."""
    highs = {name: prediction.high.log_speed for name, prediction in predicted.items() if prediction.high}
    return sorted((name for name, high in highs.items() if high + slack < best.log_speed), key=highs.__getitem__)


def slack_of(sd: float | None) -> float:
    """Return the chance difference between the logarithms of two single starts, one-sided at 5 %."""
    return ONE_SIDED_Z * math.sqrt(2) * max(sd or 0.0, SD_OF_A_START)
