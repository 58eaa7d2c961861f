"""Two viewpoints against each other: a point an arm with its intervals, and the frontier among comparable arms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.decide.rank import Candidate, Outcome, Ranking
from analysis.verdict.mean import interval_of_mean


@dataclass(frozen=True, slots=True)
class Point:
    """One arm, or one load of it; `is_comparable`: ranked from both viewpoints."""

    arm_id: str
    x: float
    y: float
    x_interval: tuple[float, float] | None
    y_interval: tuple[float, float] | None
    is_comparable: bool
    note: str = ""  # 'imported', '8 at once'


def points_of(x: Ranking, y: Ranking, note: str = "") -> list[Point]:
    """A point each arm that has a value from both viewpoints."""
    by_arm = {one.arm_id: one for one in y.candidates if one.value is not None}
    return [
        Point(
            one.arm_id,
            one.value,
            other.value,
            interval_of(one),
            interval_of(other),
            _is_ranked(one, x) and _is_ranked(other, y),
            ", ".join(filter(None, (note, one.label))),
        )
        for one in x.candidates
        if one.value is not None and (other := by_arm.get(one.arm_id)) and other.value is not None
    ]


def frontier(points: Sequence[Point], x_higher: bool, y_higher: bool) -> list[Point]:
    """The comparable points that no other beats in one and equals or beats in both, by their means; ordered by x."""
    known = [one for one in points if one.is_comparable]
    x_sign, y_sign = (1 if x_higher else -1), (1 if y_higher else -1)

    def beats(a: Point, b: Point) -> bool:
        x, y = x_sign * (a.x - b.x), y_sign * (a.y - b.y)
        return x >= 0 and y >= 0 and (x > 0 or y > 0)

    left = [one for one in known if not any(beats(other, one) for other in known)]
    return sorted(left, key=lambda one: (one.x, one.y))


def interval_of(candidate: Candidate) -> tuple[float, float] | None:
    """The 95 % interval of its mean: Wilson's for a share, else Student's over its starts; None: no spread is known."""
    if candidate.share:
        return 100 * candidate.share.low, 100 * candidate.share.high
    return interval_of_mean(candidate.values)


def _is_ranked(candidate: Candidate, ranking: Ranking) -> bool:
    """Where the guard lets no two be ranked, the one that the others were held against is not ranked either."""
    if ranking.outcome is Outcome.NOT_RANKED:
        return False
    return candidate.label is None and candidate.arm_id not in dict(ranking.refused)
