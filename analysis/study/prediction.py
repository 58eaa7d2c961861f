"""What runs of some numbers of draft tokens k say of the others: between which speeds they lie, and which cannot win.

Speed = steps/s x tokens per step. Of a k that was measured, with its shares q_i of all steps in which the first i draft
tokens were accepted (a step without a draft accepted none):

- tokens per step at a smaller k are at least 1 + q_1 + ... + q_k, as where acceptance is chance alike. They are more
  where a text has easy stretches, because a smaller k makes more of its steps there: at most E[A + 1] / E[(A + 1) /
  (min(A, k) + 1)], A being how many were accepted, as where each stretch goes on as it is.
- a step of a smaller k is no slower: steps/s at k are at least those of a larger k, and at most those of a smaller one.
- a step of a smaller k costs no less a token: steps/s rise at most by (larger k + 1) / (k + 1), or as somebody assumed.

An upper bound counts against the best only with `slack` for how far single starts are apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from analysis.evidence.drafting import Shares

SD_OF_A_START = 0.03  # taken where repeats do not show more: sd of the logarithm of one start's value
ONE_SIDED_Z = 1.645  # 5 %


@dataclass(frozen=True, slots=True)
class MeasuredK:
    """An arm that ran: its k, its speed, and its shares by kind of prompt, each () where nothing is drafted."""

    name: str
    k: int
    log_speed: float  # mean over its starts; higher is better
    shares: tuple[Shares, ...] = ()  # empty: not known

    @property
    def log_tokens(self) -> float:
        return fmean(math.log(fewest_tokens(one, self.k)) for one in self.shares)


@dataclass(frozen=True, slots=True)
class Bound:
    """A logarithm of a speed, and the arm whose run gave it."""

    log_speed: float
    arm: str


@dataclass(frozen=True, slots=True)
class Prediction:
    """Between which speeds an arm lies that did not run; None: nothing bounds it there."""

    low: Bound | None = None
    high: Bound | None = None


def fewest_tokens(shares: Sequence[float], k: int) -> float:
    """Tokens per step at k, no more than were drafted, where acceptance is chance alike at every step."""
    return 1.0 + sum(shares[:k])


def most_tokens(shares: Sequence[float], k: int) -> float:
    """The same where a text's easy stretches stay easy: a smaller k makes more of its steps in these."""
    reached = [1.0, *shares]
    exactly = [share - after for share, after in zip(reached, [*shares, 0.0], strict=True)]
    tokens = sum(share * (accepted + 1) for accepted, share in enumerate(exactly))
    steps = sum(share * (accepted + 1) / (min(accepted, k) + 1) for accepted, share in enumerate(exactly))
    return tokens / steps


def predict(k: int, measured: Sequence[MeasuredK], most_step_gain: float | None = None) -> Prediction:
    """The tightest bounds on the speed at k.

    most_step_gain: how many times the steps/s of the largest k any other has at most, where somebody assumes it.
    """
    drafted = [one for one in measured if one.shares and one.k > k]
    if not drafted:
        return Prediction()
    largest = max(drafted, key=lambda one: one.k)
    most = fmean(math.log(most_tokens(one, k)) for one in largest.shares)
    fewest = fmean(math.log(fewest_tokens(one, k)) for one in largest.shares)
    lows = [Bound(one.log_speed - one.log_tokens + fewest, one.name) for one in drafted]
    highs = [
        Bound(one.log_speed - one.log_tokens + most + _gain(one, k, largest, most_step_gain), one.name)
        for one in measured
        if one.shares
    ]
    bounds = max(lows, key=_speed), min(highs, key=_speed)
    return Prediction(*sorted(bounds, key=_speed))  # runs that contradict each other leave all between them plausible


def _speed(bound: Bound) -> float:
    return bound.log_speed


def _gain(one: MeasuredK, k: int, largest: MeasuredK, most_step_gain: float | None) -> float:
    """Logarithm of how many times its steps/s those of k are at most."""
    if one.k <= k:
        return 0.0
    by_tokens = math.log((one.k + 1) / (k + 1))
    assumed = math.log(most_step_gain) if most_step_gain and one is largest else math.inf
    return min(by_tokens, assumed)


def cannot_be_best(predicted: Mapping[str, Prediction], best: MeasuredK, slack: float) -> list[str]:
    """The arms whose highest plausible speed is below that of the best measured one, the least promising first."""
    highs = {name: one.high.log_speed for name, one in predicted.items() if one.high}
    return sorted((name for name, high in highs.items() if high + slack < best.log_speed), key=highs.__getitem__)


def slack_of(sd: float | None) -> float:
    """How far the logarithms of two single starts may be apart by chance, one-sided at 5 %."""
    return ONE_SIDED_Z * math.sqrt(2) * max(sd or 0.0, SD_OF_A_START)
