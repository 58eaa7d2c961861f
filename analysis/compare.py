"""The causal answer: how much faster one run is than another, by which factor, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.guard import Subject, reasons_not_ranked
from analysis.windows import Factors, Window, active

RESAMPLES = 2000
SAME_FACTOR = 0.02  # a factor within 2 % of 1 is told as unchanged
FEWEST_SURE = 6  # active windows a side, below which no interval is told
FEW = f"fewer than {FEWEST_SURE} active windows a side: no interval can be told"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one pair. `ratio` is B over A in mean decode tok/s of active windows, None if not ranked."""

    baseline: str  # run id of A
    other: str  # run id of B
    sentence: str
    detail: str | None = None  # the speeds and how sure the ratio is
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
    """Rank B against A, or say why not."""
    reasons = reasons_not_ranked(a, b)
    mine, theirs = a.summary.factors, b.summary.factors
    if not reasons and (mine is None or theirs is None or mine.decode_tps <= 0):
        reasons = ["no active window counts its tokens"]
    if reasons or mine is None or theirs is None:
        return Verdict(a.run_id, b.run_id, f"not ranked: {reasons[0]}", reasons=tuple(reasons))
    ratio = theirs.decode_tps / mine.decode_tps
    interval = ratio_interval(a_windows, b_windows)
    steps, tokens = _factor_ratios(mine, theirs)
    sentence = _sentence(a.name, b.name, ratio, interval, steps, tokens, mine.reason or theirs.reason)
    if a.machine_id != b.machine_id:
        sentence += " They ran on different machines, so the hardware is part of the cause."
    detail = _detail(theirs.decode_tps, mine.decode_tps, interval)
    return Verdict(a.run_id, b.run_id, sentence, detail, (), ratio, interval, steps, tokens)


def _factor_ratios(a: Factors, b: Factors) -> tuple[float | None, float | None]:
    return _ratio(b.steps_per_s, a.steps_per_s), _ratio(b.tokens_per_step, a.tokens_per_step)


def _ratio(b: float | None, a: float | None) -> float | None:
    return b / a if a and b else None


def _sentence(
    a: str,
    b: str,
    ratio: float,
    interval: tuple[float, float] | None,
    steps: float | None,
    tokens: float | None,
    no_factor: str | None,
) -> str:
    known = {name: one for name, one in (("tokens per step", tokens), ("steps/s", steps)) if one is not None}
    moved = " and ".join(_moved(*one) for one in known.items())
    if interval and interval[0] <= 1.0 <= interval[1]:
        return f"No difference shown between {b} and {a}{f': {moved}' if known else ''}."
    faster = f"{b} is {ratio:.2f}× as fast as {a}"
    if len(known) == 2:
        return f"{faster}, {_because(ratio, known)}."
    missing = no_factor or "a factor is missing"
    return (
        f"{faster}; {moved}, the rest is not known: {missing}." if known else f"{faster}, cause not known: {missing}."
    )


def _because(ratio: float, factors: Mapping[str, float]) -> str:
    """The factors that went the way of the ratio, the larger first; then what went the other way or nowhere."""
    by_size = sorted(factors.items(), key=lambda one: -abs(math.log(one[1])))
    causes = [one for one in by_size if (one[1] > 1) == (ratio > 1) and not _is_same(one[1])] or by_size
    others = [one for one in by_size if one not in causes]
    told = "because " + " and ".join(_moved(*one) for one in causes)
    return told + "".join(f", {'while' if _is_same(one[1]) else 'although'} {_moved(*one)}" for one in others)


def _moved(what: str, ratio: float) -> str:
    if _is_same(ratio):
        return f"{what} stayed the same ({ratio:.2f}×)"
    return f"{what} {'rose' if ratio > 1 else 'fell'} to {ratio:.2f}×"


def _is_same(ratio: float) -> bool:
    return abs(ratio - 1.0) <= SAME_FACTOR


def _detail(b_tps: float, a_tps: float, interval: tuple[float, float] | None) -> str:
    speeds = f"{_three_digits(b_tps)} against {_three_digits(a_tps)} tok/s"
    sure = f"95 % of resampled windows: {interval[0]:.2f}× to {interval[1]:.2f}×" if interval else FEW
    return f"{speeds} · {sure}"


def _three_digits(tps: float) -> str:
    return f"{tps:,.0f}" if tps >= 100 else f"{tps:#.3g}"
