"""The answer about two configurations from their replicates: better, worse, different, same, or not known yet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from analysis.verdict.difference import Error, as_ratio, as_ratios, error_of, log_interval
from analysis.verdict.margin import MARGIN
from analysis.verdict.repeats import repeats_to_settle
from analysis.verdict.replicates import Earlier, Side, side_of


class Answer(StrEnum):
    """What can be said of the other side, against the baseline."""

    BETTER = "better"
    WORSE = "worse"
    DIFFERENT = "different"  # different, size unclear
    SAME = "same"
    UNKNOWN = "unknown"  # not known yet
    SEEN_ONCE = "seen_once"  # a side has one replicate: a ratio, no claim


@dataclass(frozen=True, slots=True)
class Judgement:
    """One answer and what it rests on. Ratios are of the measured quantity itself, other over baseline."""

    answer: Answer
    ratio: float  # of geometric means
    interval: tuple[float, float] | None = None  # 95 %, Bonferroni over the comparisons; None: no spread is known
    equivalence: tuple[float, float] | None = None  # 90 %, likewise: what 'same' is judged by
    replicates: tuple[int, int] = (0, 0)  # of the baseline and of the other side
    df: float | None = None  # Welch and Satterthwaite's
    sd_log: float | None = None  # of the log of one replicate: the root of the mean of both sides' variances
    sd_source: str = "none"  # 'own', 'earlier' where at least one side's is, 'none'
    more_repeats: int | None = None  # further ones an arm, to settle it probably; None: nothing to settle, or too many


@dataclass(frozen=True, slots=True)
class _Rules:
    """By what one comparison is judged: the log of the smallest difference that matters and the two levels."""

    limit: float
    level: float
    level_same: float
    higher_is_better: bool

    @classmethod
    def of(cls, margin: float, comparisons: int, higher_is_better: bool) -> _Rules:
        if not (0 < margin < math.inf and comparisons >= 1):
            raise ValueError(f"Judging needs a positive margin and a comparison, not {margin} and {comparisons}.")
        return cls(math.log1p(margin), 1 - 0.05 / comparisons, 1 - 0.10 / comparisons, higher_is_better)


def judge(
    baseline: Sequence[float],
    other: Sequence[float],
    *,
    higher_is_better: bool = True,
    margin: float = MARGIN,
    comparisons: int = 1,
    earlier: Earlier | None = None,
) -> Judgement:
    """Judge the other side against the baseline.

    baseline, other: the values of the replicates, positive, one for each server start under one load. margin: the
    smallest difference that matters, as a share; it reaches from 1/(1 + margin) to 1 + margin. comparisons: how many
    are made with the same baseline. earlier: serves a side that has no spread of its own.
    ValueError for a side without replicates and for values, margins or numbers of comparisons that cannot be.
    """
    rules = _Rules.of(margin, comparisons, higher_is_better)
    a, b = side_of(baseline, earlier), side_of(other, earlier)
    error = error_of(a, b)
    return _without_spread(a, b) if error is None else _judged(a, b, error, rules)


def judge_arms(
    arms: Sequence[Sequence[float]],
    *,
    higher_is_better: bool = True,
    margin: float = MARGIN,
    earlier: Earlier | None = None,
) -> list[Judgement]:
    """Judge each further arm against arms[0], so that all intervals together cover in 95 %. ValueError: under two."""
    if len(arms) < 2:
        raise ValueError(f"Comparing needs a baseline and at least one more arm, not {len(arms)}.")
    baseline, *others = arms
    return [
        judge(
            baseline,
            other,
            higher_is_better=higher_is_better,
            margin=margin,
            comparisons=len(others),
            earlier=earlier,
        )
        for other in others
    ]


def _without_spread(a: Side, b: Side) -> Judgement:
    answer = Answer.SEEN_ONCE if 1 in (a.count, b.count) else Answer.UNKNOWN
    return Judgement(answer, as_ratio(b.mean_log - a.mean_log), replicates=(a.count, b.count))


def _judged(a: Side, b: Side, error: Error, rules: _Rules) -> Judgement:
    log_ratio = b.mean_log - a.mean_log
    wide = log_interval(log_ratio, error, rules.level)
    narrow = log_interval(log_ratio, error, rules.level_same)
    answer = _answer(wide, narrow, rules)
    return Judgement(
        answer,
        as_ratio(log_ratio),
        as_ratios(wide),
        as_ratios(narrow),
        (a.count, b.count),
        error.df(),
        error.sd_log(),
        "own" if all(part.spread.is_own for part in error.parts) else "earlier",
        _more_repeats(log_ratio, error, answer, rules),
    )


def _answer(wide: tuple[float, float], narrow: tuple[float, float], rules: _Rules) -> Answer:
    """'Same' before 'different': a difference that is shown, and shown to be too small to matter, is the same."""
    if wide[0] > rules.limit:
        return Answer.BETTER if rules.higher_is_better else Answer.WORSE
    if wide[1] < -rules.limit:
        return Answer.WORSE if rules.higher_is_better else Answer.BETTER
    if -rules.limit < narrow[0] and narrow[1] < rules.limit:
        return Answer.SAME
    return Answer.UNKNOWN if wide[0] <= 0 <= wide[1] else Answer.DIFFERENT


def _more_repeats(log_ratio: float, error: Error, answer: Answer, rules: _Rules) -> int | None:
    if answer not in (Answer.UNKNOWN, Answer.DIFFERENT):
        return None
    known = answer is Answer.DIFFERENT
    return repeats_to_settle(log_ratio, error, rules.limit, (rules.level, rules.level_same), different_is_known=known)
