"""Judges two configurations by their replicates: better, worse, different, same, or not known yet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from analysis.verdict.difference import Uncertainty, as_ratio, as_ratios, log_interval, uncertainty_of
from analysis.verdict.margin import MARGIN
from analysis.verdict.replicates import EarlierSpread, Side, side_of
from analysis.verdict.settling import Levels, SettlingRepeats, settling_repeats


class VerdictAnswer(StrEnum):
    """What the replicates show about the contender, compared with the baseline."""

    BETTER = "better"
    WORSE = "worse"
    DIFFERENT = "different"  # different, size unclear
    SAME = "same"
    UNKNOWN = "unknown"  # not known yet
    SEEN_ONCE = "seen_once"  # a side has one replicate: a ratio, no claim


@dataclass(frozen=True, slots=True)
class Judgement:
    """One answer with its evidence. Ratios are of the measured quantity itself, contender over baseline."""

    answer: VerdictAnswer
    ratio: float  # of geometric means
    interval: tuple[float, float] | None = None  # 95 %, Bonferroni over the comparisons; None: spread unknown
    equivalence: tuple[float, float] | None = None  # 90 %, likewise; decides 'same'
    replicates: tuple[int, int] = (0, 0)  # of the baseline and of the contender
    df: float | None = None  # Welch and Satterthwaite's
    sd_log: float | None = None  # of the log of one replicate: the root of the mean of both sides' variances
    sd_source: str = "none"  # 'own', 'earlier' if at least one side's is, 'none'
    sides: tuple[Side, Side] | None = None  # None: no forecast
    levels: Levels | None = None

    @property
    def more_repeats(self) -> SettlingRepeats | None:
        """Further repeats of each side that settle it; None: nothing to settle, unknown, or too many."""
        if self.answer not in (VerdictAnswer.UNKNOWN, VerdictAnswer.DIFFERENT) or not (self.sides and self.levels):
            return None
        return settling_repeats(*self.sides, self.levels, needs_size=self.answer is VerdictAnswer.DIFFERENT)


@dataclass(frozen=True, slots=True)
class _Rules:
    """Thresholds of one comparison: the log of the smallest difference that matters and the two levels."""

    limit: float
    level: float
    level_same: float
    higher_is_better: bool

    @classmethod
    def from_margin(cls, margin: float, comparisons: int, higher_is_better: bool) -> _Rules:
        if not (0 < margin < math.inf and comparisons >= 1):
            raise ValueError(f"Judging needs a positive margin and a comparison, not {margin} and {comparisons}.")
        return cls(math.log1p(margin), 1 - 0.05 / comparisons, 1 - 0.10 / comparisons, higher_is_better)


def judge(
    baseline: Sequence[float],
    contender: Sequence[float],
    *,
    higher_is_better: bool = True,
    margin: float = MARGIN,
    comparisons: int = 1,
    earlier: EarlierSpread | None = None,
) -> Judgement:
    """Judge the contender against the baseline.

    baseline, contender: replicate values, positive, one for each server start under one load. margin: the smallest
    difference that matters, as a share; it spans 1/(1 + margin) to 1 + margin. comparisons: their number with the same
    baseline. earlier: spread for a side that has none of its own.
    ValueError for a side without replicates and for invalid values, margins or numbers of comparisons.
    """
    rules = _Rules.from_margin(margin, comparisons, higher_is_better)
    a, b = side_of(baseline, earlier), side_of(contender, earlier)
    uncertainty = uncertainty_of(a, b)
    return _without_spread(a, b) if uncertainty is None else _judge_sides(a, b, uncertainty, rules)


def _without_spread(a: Side, b: Side) -> Judgement:
    answer = VerdictAnswer.SEEN_ONCE if 1 in (a.count, b.count) else VerdictAnswer.UNKNOWN
    return Judgement(answer, as_ratio(b.mean_log - a.mean_log), replicates=(a.count, b.count))


def _judge_sides(a: Side, b: Side, uncertainty: Uncertainty, rules: _Rules) -> Judgement:
    log_ratio = b.mean_log - a.mean_log
    wide = log_interval(log_ratio, uncertainty, rules.level)
    narrow = log_interval(log_ratio, uncertainty, rules.level_same)
    answer = _answer(wide, narrow, rules)
    return Judgement(
        answer,
        as_ratio(log_ratio),
        as_ratios(wide),
        as_ratios(narrow),
        (a.count, b.count),
        uncertainty.df(),
        uncertainty.sd_log(),
        "own" if all(term.spread.is_own for term in uncertainty.terms) else "earlier",
        (a, b),
        Levels(rules.limit, rules.level, rules.level_same),
    )


def _answer(wide: tuple[float, float], narrow: tuple[float, float], rules: _Rules) -> VerdictAnswer:
    """Test 'same' before 'different': a proven difference that is proven too small to matter is 'same'."""
    if wide[0] > rules.limit:
        return VerdictAnswer.BETTER if rules.higher_is_better else VerdictAnswer.WORSE
    if wide[1] < -rules.limit:
        return VerdictAnswer.WORSE if rules.higher_is_better else VerdictAnswer.BETTER
    if -rules.limit < narrow[0] and narrow[1] < rules.limit:
        return VerdictAnswer.SAME
    return VerdictAnswer.UNKNOWN if wide[0] <= 0 <= wide[1] else VerdictAnswer.DIFFERENT
