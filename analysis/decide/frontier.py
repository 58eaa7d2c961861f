"""Two viewpoints plotted against each other: one point per arm with its intervals, and the Pareto frontier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.decide.rank import RankCandidate, Ranking, RankingOutcome
from analysis.verdict.mean import interval_of_mean


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """One arm, or one of its loads; `is_comparable`: ranked from both viewpoints."""

    arm_id: str
    x: float
    y: float
    x_interval: tuple[float, float] | None
    y_interval: tuple[float, float] | None
    is_comparable: bool
    note: str = ""  # 'imported', '8 at once'


def points_of(x: Ranking, y: Ranking, note: str = "") -> list[FrontierPoint]:
    """Return one point per arm that has a value from both viewpoints."""
    by_arm = {candidate.arm_id: candidate for candidate in y.candidates if candidate.value is not None}
    return [
        FrontierPoint(
            x_candidate.arm_id,
            x_candidate.value,
            y_candidate.value,
            interval_of(x_candidate),
            interval_of(y_candidate),
            _is_ranked(x_candidate, x) and _is_ranked(y_candidate, y),
            ", ".join(filter(None, (note, x_candidate.label))),
        )
        for x_candidate in x.candidates
        if x_candidate.value is not None
        and (y_candidate := by_arm.get(x_candidate.arm_id))
        and y_candidate.value is not None
    ]


def frontier(points: Sequence[FrontierPoint], x_higher: bool, y_higher: bool) -> list[FrontierPoint]:
    """Return the comparable points that no other point dominates, by their means; ordered by x."""
    comparable = [point for point in points if point.is_comparable]
    x_sign, y_sign = (1 if x_higher else -1), (1 if y_higher else -1)

    def beats(a: FrontierPoint, b: FrontierPoint) -> bool:
        x, y = x_sign * (a.x - b.x), y_sign * (a.y - b.y)
        return x >= 0 and y >= 0 and (x > 0 or y > 0)

    undominated = [point for point in comparable if not any(beats(rival, point) for rival in comparable)]
    return sorted(undominated, key=lambda point: (point.x, point.y))


def interval_of(candidate: RankCandidate) -> tuple[float, float] | None:
    """Return the 95 % interval of its mean: Wilson's for a share, else Student's over its starts; None: unknown."""
    if candidate.share:
        return 100 * candidate.share.low, 100 * candidate.share.high
    return interval_of_mean(candidate.values)


def _is_ranked(candidate: RankCandidate, ranking: Ranking) -> bool:
    """Whether the candidate is ranked; if the guard lets no two be ranked, neither is the reference."""
    if ranking.outcome is RankingOutcome.NOT_RANKED:
        return False
    return candidate.label is None and candidate.arm_id not in dict(ranking.refused)
