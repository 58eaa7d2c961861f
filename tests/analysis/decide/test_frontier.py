"""The frontier of two viewpoints, worked by hand; what may not be ranked is a point and never on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from analysis.decide.frontier import FrontierPoint, frontier, interval_of, points_of
from analysis.decide.rank import RankCandidate, Ranking, RankingOutcome
from analysis.decide.viewpoints import VIEWS, Viewpoint
from analysis.guard import GuardRow, RowCode, RowStatus
from domain import Run
from tests.web.report_export.conftest import Report
from web.compare.viewpoints.frontier_plots import plots


def point(name: str, x: float, y: float, is_comparable: bool = True) -> FrontierPoint:
    return FrontierPoint(name, x, y, None, None, is_comparable)


POINTS = [point("slow", 10, 100), point("middle", 20, 80), point("inside", 15, 70), point("fast", 40, 10)]


def names(points: list[FrontierPoint]) -> list[str]:
    return [point.arm_id for point in points]


def test_what_another_beats_in_both_is_not_on_it() -> None:
    assert names(frontier(POINTS, x_higher=True, y_higher=True)) == ["slow", "middle", "fast"]
    assert names(frontier(POINTS, x_higher=False, y_higher=True)) == ["slow"]
    assert names(frontier(POINTS, x_higher=False, y_higher=False)) == ["slow", "inside", "fast"]


def test_what_may_not_be_ranked_is_never_on_it() -> None:
    wonder = point("watched", 100, 1000, is_comparable=False)
    assert names(frontier([*POINTS, wonder], True, True)) == ["slow", "middle", "fast"]


def test_equal_points_are_both_on_it() -> None:
    assert names(frontier([point("a", 1, 1), point("b", 1, 1)], True, True)) == ["a", "b"]


def ranking(viewpoint: Viewpoint, *arms: RankCandidate, refused: tuple[str, ...] = ()) -> Ranking:
    rows = tuple((one, (GuardRow(RowCode.MODEL, RowStatus.MATTERS),)) for one in refused)
    return Ranking(viewpoint, VIEWS[viewpoint], arms, RankingOutcome.TIE, refused=rows)


def test_point_needs_both_values_ranked() -> None:
    a, b, c, d = (RankCandidate(name, (10.0, 11.0)) for name in "abcd")
    cost = ranking(Viewpoint.COST, a, b, replace(c, label="imported"), replace(d, values=()))
    speed = ranking(Viewpoint.TYPICAL, a, b, c, d, refused=("b",))
    points_by_arm_id = {point.arm_id: point for point in points_of(cost, speed)}
    assert {name: value.is_comparable for name, value in points_by_arm_id.items()} == {
        "a": True,
        "b": False,
        "c": False,
    }
    assert points_by_arm_id["c"].note == "imported"


def test_unrankable_runs_have_no_comparable_point() -> None:
    a, b = (RankCandidate(name, (10.0, 11.0)) for name in "ab")
    refused = replace(ranking(Viewpoint.COST, a, b, refused=("b",)), outcome=RankingOutcome.NOT_RANKED)
    assert not any(point.is_comparable for point in points_of(refused, ranking(Viewpoint.TYPICAL, a, b)))


def test_the_interval_of_a_mean_is_that_of_scipy() -> None:
    logs = np.log([100.0, 104.0, 98.0])
    low, high = stats.t.interval(0.95, 2, logs.mean(), stats.sem(logs))
    assert interval_of(RankCandidate("a", (100.0, 104.0, 98.0))) == pytest.approx((np.exp(low), np.exp(high)))
    assert interval_of(RankCandidate("a", (100.0,))) is None and interval_of(RankCandidate("a", (0.0, 1.0))) is None


def test_stored_loads_plot_user_against_gpu(runs: list[Run], report: Report) -> None:
    data = report(runs)
    first = plots(data.rankings, data.curve)[0]
    assert first.title == "Speed per GPU against speed per user"
    assert {point.note for point in first.points} == {"2 at once", "4 at once", "8 at once"}
    assert len(first.points) == 6 and first.best
    alone = [point for point in first.points if point.note == "8 at once"]
    assert alone[0].y > alone[0].x, "eight together give more than one of them sees"
