"""Ranks the arms of one viewpoint: the best, its runner-up, their ratio, and whether the evidence separates them.

An arm is best if it differs from every other ranked arm. The intervals hold for all pairs jointly, because the best is
selected from the data. Arms that cannot be distinguished from it tie with it; shares of items tie only if a test shows
that they differ by less than the margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from analysis.decide.viewpoints import EvidenceKind, Viewpoint, ViewpointTerms
from analysis.guard import GuardRow
from analysis.loads.accuracy import ShareInterval
from analysis.loads.paired_accuracy import PairedDifference, PairedItems, paired_difference
from analysis.verdict import MARGIN, VerdictAnswer, judge
from analysis.verdict.mean import mean_of
from analysis.verdict.spread_ratio import sd_ratio_interval
from reasons import Reason


@dataclass(frozen=True, slots=True)
class RankCandidate:
    """One arm from one viewpoint: one value per server start, one stated value, or the reason for none."""

    arm_id: str
    values: tuple[float, ...] = ()
    reason: Reason | None = None
    label: str | None = None  # 'watched', 'imported': shown but not ranked
    share: ShareInterval | None = None  # for EvidenceKind.SHARE
    starts: int = 0  # for EvidenceKind.SCATTER: starts behind the one value

    @property
    def value(self) -> float | None:
        """The geometric mean; the arithmetic mean if a value is not positive."""
        return mean_of(self.values)


class RankingOutcome(StrEnum):
    """Result of ranking the arms from a viewpoint."""

    BEST = "best"
    TIE = "tie"  # the evidence does not distinguish the best from others
    SEEN_ONCE = "seen_once"  # one start each: observed, not proven
    ALONE = "alone"  # only one arm has a value that can be ranked
    NOT_RANKED = "not_ranked"  # the guard lets no two of them be ranked
    UNDECIDED = "undecided"  # no test shows a difference, and none shows that it is within the margin
    NOT_KNOWN = "not_known"


@dataclass(frozen=True, slots=True)
class Ranking:
    """One viewpoint over several arms. `ratio` is best over runner-up, of the quantity itself.

    `difference` is best minus runner-up on the same items, for a viewpoint of shares.
    """

    viewpoint: Viewpoint
    view: ViewpointTerms
    candidates: tuple[RankCandidate, ...]
    outcome: RankingOutcome
    best: str | None = None  # arm id
    runner_up: str | None = None
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    tied: tuple[str, ...] = ()  # arms that cannot be distinguished from the best
    refused: tuple[tuple[str, tuple[GuardRow, ...]], ...] = ()  # arms that the guard excludes, with its rows
    difference: PairedDifference | None = None


Refusals = Callable[[str, str], Sequence[GuardRow]]  # the rows that forbid ranking the second arm against the first
PairsOf = Callable[[str, str], PairedItems | None]  # the items of two arms, the first as the baseline; None: no pairs


def no_pairs(first: str, second: str) -> None:
    """The pairs of arms whose items are not stored."""


def rank(
    viewpoint: Viewpoint,
    view: ViewpointTerms,
    candidates: Sequence[RankCandidate],
    refusals: Refusals,
    margin: float = MARGIN,
    pairs_of: PairsOf = no_pairs,
) -> Ranking:
    """Rank the arms that may be ranked.

    margin: the smallest difference that matters, as a share; for shares of items 0.02 is 2 percentage points.
    """
    valued_candidates = [
        candidate for candidate in candidates if candidate.value is not None and candidate.label is None
    ]
    ranked, refused = _comparable(view, valued_candidates, refusals)
    context = (viewpoint, view, tuple(candidates))
    if not ranked:
        return Ranking(*context, RankingOutcome.NOT_KNOWN, refused=refused)
    best, *rivals = _ordered(view, ranked)
    if not rivals:
        return Ranking(
            *context, RankingOutcome.NOT_RANKED if refused else RankingOutcome.ALONE, best.arm_id, refused=refused
        )
    rules = _SeparationRules(margin, len(ranked) * (len(ranked) - 1) // 2)
    separations = [_separate(view, best, rival, rules, pairs_of) for rival in rivals]
    tied = tuple(
        rival.arm_id
        for rival, separation in zip(rivals, separations, strict=True)
        if separation.outcome is not RankingOutcome.BEST
    )
    first, outcomes = separations[0], {separation.outcome for separation in separations}
    return Ranking(
        *context,
        next(outcome for outcome in _WEAKEST_FIRST if outcome in outcomes),
        best.arm_id,
        rivals[0].arm_id,
        first.ratio,
        first.interval,
        tied,
        refused,
        first.difference,
    )


_WEAKEST_FIRST = (RankingOutcome.SEEN_ONCE, RankingOutcome.UNDECIDED, RankingOutcome.TIE, RankingOutcome.BEST)


def _comparable(
    view: ViewpointTerms, valued_candidates: Sequence[RankCandidate], refusals: Refusals
) -> tuple[list[RankCandidate], tuple[tuple[str, tuple[GuardRow, ...]], ...]]:
    """Return the arms comparable with the first that has a value, and among these those comparable with the best."""
    comparable, refused = _check_against(valued_candidates[:1], valued_candidates, view, refusals)
    comparable, further_refused = _check_against(_ordered(view, comparable)[:1], comparable, view, refusals)
    return comparable, (*refused, *further_refused)


def _check_against(
    reference: Sequence[RankCandidate], candidates: Sequence[RankCandidate], view: ViewpointTerms, refusals: Refusals
) -> tuple[list[RankCandidate], list[tuple[str, tuple[GuardRow, ...]]]]:
    refusing_rows = {
        rival.arm_id: tuple(row for row in refusals(base.arm_id, rival.arm_id) if row.code in view.rows)
        for base in reference
        for rival in candidates
        if rival is not base
    }
    comparable = [candidate for candidate in candidates if not refusing_rows.get(candidate.arm_id)]
    return comparable, [(arm_id, rows) for arm_id, rows in refusing_rows.items() if rows]


def _ordered(view: ViewpointTerms, candidates: Sequence[RankCandidate]) -> list[RankCandidate]:
    """Return the best first; equal candidates keep their order."""
    sign = -1.0 if view.higher_is_better else 1.0
    return sorted(candidates, key=lambda candidate: sign * (candidate.value or 0.0))


class _SeparationRules(NamedTuple):
    """The margin as a share, and the number of pairs for which the intervals hold jointly."""

    margin: float
    pairs: int

    @property
    def level(self) -> float:
        """The level of intervals, and one minus that of tests."""
        return 1 - 0.05 / self.pairs

    @property
    def level_same(self) -> float:
        """The level of the interval that lies within the margin if two arms tie: two one-sided tests at 5 %."""
        return 1 - 0.10 / self.pairs


@dataclass(frozen=True, slots=True)
class _Separation:
    """What the evidence shows about the best and a rival: BEST, TIE, SEEN_ONCE or UNDECIDED."""

    outcome: RankingOutcome
    ratio: float | None
    interval: tuple[float, float] | None = None
    difference: PairedDifference | None = None


def _separate(
    view: ViewpointTerms, best: RankCandidate, rival: RankCandidate, rules: _SeparationRules, pairs_of: PairsOf
) -> _Separation:
    ratio = best.value / rival.value if best.value is not None and rival.value else None
    match view.evidence:
        case EvidenceKind.STATED:
            is_apart = best.value != rival.value if ratio is None else abs(math.log(ratio)) > math.log1p(rules.margin)
            return _Separation(_best_or_tie(is_apart), ratio)
        case EvidenceKind.SHARE:
            return _separate_shares(best, rival, ratio, rules, pairs_of(rival.arm_id, best.arm_id))
        case EvidenceKind.SCATTER:
            return _separate_scatter(best, rival, ratio, rules)
        case EvidenceKind.STARTS:
            return _separate_starts(view, best, rival, rules)


def _best_or_tie(is_apart: bool) -> RankingOutcome:
    return RankingOutcome.BEST if is_apart else RankingOutcome.TIE


def _separate_shares(
    best: RankCandidate, rival: RankCandidate, ratio: float | None, rules: _SeparationRules, items: PairedItems | None
) -> _Separation:
    """Separate by the shared items; without any, only by Wilson's intervals that do not overlap, and never as a tie."""
    if items is None:
        is_apart = bool(best.share and rival.share and best.share.low > rival.share.high)
        return _Separation(RankingOutcome.BEST if is_apart else RankingOutcome.UNDECIDED, ratio)
    difference, narrow = paired_difference(items, rules.level), paired_difference(items, rules.level_same)
    limit = 100 * rules.margin
    outcome = RankingOutcome.UNDECIDED
    if -limit < narrow.low and narrow.high < limit:
        outcome = RankingOutcome.TIE
    elif difference.points > 0 and difference.p_value <= 1 - rules.level:
        outcome = RankingOutcome.BEST
    return _Separation(outcome, ratio, difference=difference)


def _separate_starts(
    view: ViewpointTerms, best: RankCandidate, rival: RankCandidate, rules: _SeparationRules
) -> _Separation:
    if min(*best.values, *rival.values) <= 0:
        return _Separation(RankingOutcome.SEEN_ONCE, None)
    judgement = judge(
        rival.values,
        best.values,
        higher_is_better=view.higher_is_better,
        margin=rules.margin,
        comparisons=rules.pairs,
    )
    if judgement.answer is VerdictAnswer.SEEN_ONCE:
        return _Separation(RankingOutcome.SEEN_ONCE, judgement.ratio)
    is_better = (judgement.ratio > 1) == view.higher_is_better
    is_apart = judgement.answer in (VerdictAnswer.BETTER, VerdictAnswer.DIFFERENT) and is_better
    return _Separation(_best_or_tie(is_apart), judgement.ratio, judgement.interval)


def _separate_scatter(
    best: RankCandidate, rival: RankCandidate, ratio: float | None, rules: _SeparationRules
) -> _Separation:
    if ratio is None or best.value == 0:
        return _Separation(RankingOutcome.TIE, ratio)
    interval = sd_ratio_interval(ratio, best.starts - 1, rival.starts - 1, rules.level)
    return _Separation(_best_or_tie(interval[1] < 1), ratio, interval)
