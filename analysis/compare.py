"""The causal answer: how much faster one run is than another, by which factor, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.guard import Subject, reasons_not_ranked
from analysis.windows import Factors, Window, active

RESAMPLES = 2000
SAME_FACTOR = 0.02  # a factor within 2 % of 1 is told as unchanged


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one pair. `ratio` is B over A in mean decode tok/s of active windows, None if not ranked."""

    baseline: str  # run id of A
    other: str  # run id of B
    sentence: str
    reasons: tuple[str, ...] = ()
    ratio: float | None = None
    interval: tuple[float, float] | None = None  # 95 %, of the windows of these runs, not of new runs
    steps_ratio: float | None = None
    tokens_ratio: float | None = None

    @property
    def ranked(self) -> bool:
        return self.ratio is not None


def circular_blocks(rng: np.random.Generator, n: int) -> npt.NDArray[np.int64]:
    """Indices of one circular block resample of n windows, blocks of n**(1/3): neighbours are correlated."""
    size = max(1, round(n ** (1 / 3)))
    starts = rng.integers(0, n, size=math.ceil(n / size))
    picks: npt.NDArray[np.int64] = ((starts[:, None] + np.arange(size)[None, :]) % n).ravel()[:n]
    return picks


def ratio_interval(a: Sequence[Window], b: Sequence[Window], seed: int = 0) -> tuple[float, float] | None:
    """95 % bootstrap interval of mean rate B over mean rate A; None below 6 active windows a side."""
    sides = [active(a), active(b)]
    if min(len(s) for s in sides) < 6:
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
    """Rank B against A, or say why not."""
    reasons = reasons_not_ranked(a, b)
    mine, theirs = a.summary.factors, b.summary.factors
    if not reasons and (mine is None or theirs is None or mine.decode_tps <= 0):
        reasons = ["no active window counts its tokens"]
    if reasons or mine is None or theirs is None:
        return Verdict(a.run_id, b.run_id, f"not ranked: {reasons[0]}", tuple(reasons))
    ratio = theirs.decode_tps / mine.decode_tps
    interval = ratio_interval(a_windows, b_windows)
    steps, tokens = _factor_ratios(mine, theirs)
    sentence = _sentence(a.name, b.name, ratio, interval, steps, tokens, mine, theirs)
    if a.machine_id != b.machine_id:
        sentence += " They ran on different machines, so the hardware is part of the cause."
    return Verdict(a.run_id, b.run_id, sentence, (), ratio, interval, steps, tokens)


def _factor_ratios(a: Factors, b: Factors) -> tuple[float | None, float | None]:
    if not (a.steps_per_s and b.steps_per_s and a.tokens_per_step and b.tokens_per_step):
        return None, None
    return b.steps_per_s / a.steps_per_s, b.tokens_per_step / a.tokens_per_step


def _sentence(
    a: str,
    b: str,
    ratio: float,
    interval: tuple[float, float] | None,
    steps: float | None,
    tokens: float | None,
    mine: Factors,
    theirs: Factors,
) -> str:
    speeds = f"{theirs.decode_tps:.3g} against {mine.decode_tps:.3g} tok/s"
    if interval and interval[0] <= 1.0 <= interval[1]:
        told = f"No difference shown between {b} and {a}: {speeds}, ratio {ratio:.2f} ({_span(interval)})"
        return told + ("." if steps is None or tokens is None else f"; {_factors(steps, tokens)}.")
    doubt = f" ({_span(interval)})" if interval else ""
    return f"{b} is {ratio:.2f}× {a}{doubt}, {speeds}, {_because(steps, tokens, mine, theirs)}."


def _span(interval: tuple[float, float]) -> str:
    return f"95 % of resampled windows: {interval[0]:.2f} to {interval[1]:.2f}"


def _because(steps: float | None, tokens: float | None, a: Factors, b: Factors) -> str:
    if steps is None or tokens is None:
        return f"cause not known: {a.reason or b.reason or 'a factor is missing'}"
    return f"because {_factors(steps, tokens)}"


def _factors(steps: float, tokens: float) -> str:
    return f"{_moved('tokens per step', tokens)} and {_moved('steps/s', steps)}"


def _moved(what: str, ratio: float) -> str:
    if abs(ratio - 1.0) <= SAME_FACTOR:
        return f"{what} stayed the same ({ratio:.2f}×)"
    return f"{what} {'rose' if ratio > 1 else 'fell to'} {ratio:.2f}×"
