"""The best arm of one viewpoint, its runner-up, the margin between them, and whether the evidence distinguishes them.

An arm is best where it differs from every other ranked arm. The intervals hold for all pairs together, because the best
is chosen by looking. Arms that it is not distinguished from tie with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from analysis.decide.viewpoints import Evidence, View, Viewpoint
from analysis.guard import Row
from analysis.loads.accuracy import Interval
from analysis.verdict import MARGIN, Answer, judge
from analysis.verdict.mean import mean_of
from analysis.verdict.spread_ratio import sd_ratio_interval
from reasons import Reason


@dataclass(frozen=True, slots=True)
class Candidate:
    """What one arm shows from one viewpoint: a value a server start, one that is stated, or why there is none."""

    arm_id: str
    values: tuple[float, ...] = ()
    reason: Reason | None = None
    label: str | None = None  # 'watched', 'imported': shown, and not ranked
    share: Interval | None = None  # Evidence.SHARE
    starts: int = 0  # Evidence.SCATTER: of the one value

    @property
    def value(self) -> float | None:
        """The geometric mean; of values that may be zero the mean."""
        return mean_of(self.values)


class Outcome(StrEnum):
    """What can be said from a viewpoint."""

    BEST = "best"
    TIE = "tie"  # the evidence does not distinguish the best from others
    SEEN_ONCE = "seen_once"  # a start each: seen, not shown
    ALONE = "alone"  # one arm has a value that could be ranked
    NOT_RANKED = "not_ranked"  # the guard lets no two of them be ranked
    NOT_KNOWN = "not_known"


@dataclass(frozen=True, slots=True)
class Ranking:
    """One viewpoint over some arms. `ratio` is best over runner-up, of the quantity itself."""

    viewpoint: Viewpoint
    view: View
    candidates: tuple[Candidate, ...]
    outcome: Outcome
    best: str | None = None  # arm id
    runner_up: str | None = None
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    tied: tuple[str, ...] = ()  # arms that are not distinguished from the best
    refused: tuple[tuple[str, tuple[Row, ...]], ...] = ()  # arms that the guard does not let be ranked, with its rows


Refusals = Callable[[str, str], Sequence[Row]]  # the rows that forbid ranking the second arm against the first


def rank(
    viewpoint: Viewpoint, view: View, candidates: Sequence[Candidate], refusals: Refusals, margin: float = MARGIN
) -> Ranking:
    """Rank the arms that may be ranked. margin: the smallest difference that matters, as a share."""
    known = [one for one in candidates if one.value is not None and one.label is None]
    ranked, refused = _comparable(view, known, refusals)
    given = (viewpoint, view, tuple(candidates))
    if not ranked:
        return Ranking(*given, Outcome.NOT_KNOWN, refused=refused)
    best, *others = _ordered(view, ranked)
    if not others:
        return Ranking(*given, Outcome.NOT_RANKED if refused else Outcome.ALONE, best.arm_id, refused=refused)
    pairs = len(ranked) * (len(ranked) - 1) // 2
    apart = [_apart(view, best, other, margin, pairs) for other in others]
    tied = tuple(other.arm_id for other, one in zip(others, apart, strict=True) if one.is_apart is not True)
    is_unseen = any(one.is_apart is None for one in apart)
    outcome = Outcome.BEST if not tied else Outcome.SEEN_ONCE if is_unseen else Outcome.TIE
    first = apart[0]
    return Ranking(*given, outcome, best.arm_id, others[0].arm_id, first.ratio, first.interval, tied, refused)


def _comparable(
    view: View, known: Sequence[Candidate], refusals: Refusals
) -> tuple[list[Candidate], tuple[tuple[str, tuple[Row, ...]], ...]]:
    """Those that may be held against the first that has a value, and of them those that may against the best."""
    left, refused = _held_against(known[:1], known, view, refusals)
    left, more = _held_against(_ordered(view, left)[:1], left, view, refusals)
    return left, (*refused, *more)


def _held_against(
    reference: Sequence[Candidate], known: Sequence[Candidate], view: View, refusals: Refusals
) -> tuple[list[Candidate], list[tuple[str, tuple[Row, ...]]]]:
    found = {
        other.arm_id: tuple(row for row in refusals(one.arm_id, other.arm_id) if row.code in view.rows)
        for one in reference
        for other in known
        if other is not one
    }
    left = [one for one in known if not found.get(one.arm_id)]
    return left, [(arm_id, rows) for arm_id, rows in found.items() if rows]


def _ordered(view: View, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The best first; of equals the one that stands first."""
    sign = -1.0 if view.higher_is_better else 1.0
    return sorted(candidates, key=lambda one: sign * (one.value or 0.0))


@dataclass(frozen=True, slots=True)
class _Apart:
    """Whether the best is distinguished from another arm; None: one start each cannot show it."""

    is_apart: bool | None
    ratio: float | None
    interval: tuple[float, float] | None = None


def _apart(view: View, best: Candidate, other: Candidate, margin: float, pairs: int) -> _Apart:
    ratio = best.value / other.value if best.value is not None and other.value else None
    match view.evidence:
        case Evidence.STATED:
            is_apart = best.value != other.value if ratio is None else abs(math.log(ratio)) > math.log1p(margin)
            return _Apart(is_apart, ratio)
        case Evidence.SHARE:
            return _Apart(bool(best.share and other.share and best.share.low > other.share.high), ratio)
        case Evidence.SCATTER:
            return _scatter(best, other, ratio, pairs)
        case Evidence.STARTS:
            return _starts(view, best, other, margin, pairs)


def _starts(view: View, best: Candidate, other: Candidate, margin: float, pairs: int) -> _Apart:
    if min(*best.values, *other.values) <= 0:
        return _Apart(None, None)
    judged = judge(
        other.values, best.values, higher_is_better=view.higher_is_better, margin=margin, comparisons=pairs
    )  # fmt: skip
    if judged.answer is Answer.SEEN_ONCE:
        return _Apart(None, judged.ratio)
    is_better = (judged.ratio > 1) == view.higher_is_better
    return _Apart(judged.answer in (Answer.BETTER, Answer.DIFFERENT) and is_better, judged.ratio, judged.interval)


def _scatter(best: Candidate, other: Candidate, ratio: float | None, pairs: int) -> _Apart:
    if ratio is None or best.value == 0:
        return _Apart(False, ratio)
    interval = sd_ratio_interval(ratio, best.starts - 1, other.starts - 1, 1 - 0.05 / pairs)
    return _Apart(interval[1] < 1, ratio, interval)
