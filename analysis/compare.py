"""The causal answer: how much faster one run is than another, by which factor, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.guard import Subject, reasons_not_ranked
from analysis.reasons import Code, Reason
from analysis.windows import Window, active

RESAMPLES = 2000
FEWEST_SURE = 6  # active windows a side, below which no interval is told


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one pair. `ratio` is B over A in mean decode tok/s of active windows, None if not ranked."""

    baseline: str  # run id of A
    other: str  # run id of B
    reasons: tuple[Reason, ...] = ()  # why it is not ranked
    ratio: float | None = None
    interval: tuple[float, float] | None = None  # 95 %, of the windows of these runs, not of new runs
    steps_ratio: float | None = None
    tokens_ratio: float | None = None
    no_factor: Reason | None = None  # why a factor is unknown
    speeds_tps: tuple[float, float] | None = None  # mean decode tok/s of A and B
    other_machine: bool = False

    @property
    def ranked(self) -> bool:
        return self.ratio is not None

    @property
    def is_difference_shown(self) -> bool:
        """Whether the interval, where there is one, leaves 1 out."""
        return self.interval is None or not self.interval[0] <= 1.0 <= self.interval[1]


def circular_blocks(rng: np.random.Generator, n: int) -> npt.NDArray[np.int64]:
    """Indices of one circular block resample of n windows, blocks of n**(1/3): neighbours are correlated."""
    size = max(1, round(n ** (1 / 3)))
    starts = rng.integers(0, n, size=math.ceil(n / size))
    picks: npt.NDArray[np.int64] = ((starts[:, None] + np.arange(size)[None, :]) % n).ravel()[:n]
    return picks


def ratio_interval(a: Sequence[Window], b: Sequence[Window], seed: int = 0) -> tuple[float, float] | None:
    """95 % bootstrap interval of mean rate B over mean rate A; None below FEWEST_SURE active windows a side."""
    sides = [active(a), active(b)]
    if min(len(s) for s in sides) < FEWEST_SURE:
        return None
    rng = np.random.default_rng(seed)
    means = [_resampled_means(rng, side) for side in sides]
    low, high = np.percentile(means[1] / means[0], [2.5, 97.5])
    return float(low), float(high)


def _resampled_means(rng: np.random.Generator, side: Sequence[Window]) -> npt.NDArray[np.float64]:
    tokens = np.array([(w.decode_tps or 0.0) * w.dt_s for w in side])
    seconds = np.array([w.dt_s for w in side])
    picks = [circular_blocks(rng, len(side)) for _ in range(RESAMPLES)]
    return np.array([tokens[p].sum() / seconds[p].sum() for p in picks])


def compare(a: Subject, a_windows: Sequence[Window], b: Subject, b_windows: Sequence[Window]) -> Verdict:
    """Rank B against A, or give the reasons why not."""
    reasons = reasons_not_ranked(a, b)
    mine, theirs = a.summary.factors, b.summary.factors
    if not reasons and (mine is None or theirs is None or mine.decode_tps <= 0):
        reasons = [Reason(Code.NO_TOKENS_COUNTED)]
    if reasons or mine is None or theirs is None:
        return Verdict(a.run_id, b.run_id, tuple(reasons))
    return Verdict(
        a.run_id,
        b.run_id,
        ratio=theirs.decode_tps / mine.decode_tps,
        interval=ratio_interval(a_windows, b_windows),
        steps_ratio=_ratio(theirs.steps_per_s, mine.steps_per_s),
        tokens_ratio=_ratio(theirs.tokens_per_step, mine.tokens_per_step),
        no_factor=mine.reason or theirs.reason,
        speeds_tps=(mine.decode_tps, theirs.decode_tps),
        other_machine=a.machine_id != b.machine_id,
    )


def _ratio(b: float | None, a: float | None) -> float | None:
    return b / a if a and b else None
