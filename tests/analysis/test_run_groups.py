"""Runs put together: a server start counts once, an unknown number is none, the interval is Student's."""

from __future__ import annotations

import math

import pytest
import scipy

from analysis.chart_points import ChartPoint, mean_marks, single_marks
from analysis.run_groups import group_runs

ALONE: dict[str, frozenset[str]] = {}


def test_mean_and_interval_match_the_logs() -> None:
    (group,) = group_runs({"a": ["g"], "b": ["g"], "c": ["g"]}, {"a": 100.0, "b": 110.0, "c": 104.0}, ALONE)
    logs = [math.log(value) for value in (100.0, 110.0, 104.0)]
    low, high = scipy.stats.t.interval(0.95, 2, loc=sum(logs) / 3, scale=scipy.stats.sem(logs))
    assert group.mean == pytest.approx(math.exp(sum(logs) / 3))
    assert group.interval == pytest.approx((math.exp(low), math.exp(high)))


def test_runs_on_one_process_average_to_a_start() -> None:
    same = {"a": frozenset({"p"}), "b": frozenset({"p", "q"}), "c": frozenset({"q"})}
    (group,) = group_runs({"a": ["g"], "b": ["g"], "c": ["g"]}, {"a": 100.0, "b": None, "c": 400.0}, same)
    assert (group.starts, group.values, group.unknown) == (1, (pytest.approx(200.0),), 0)
    assert group.interval is None


def test_unknown_values_are_counted_and_last() -> None:
    groups = group_runs({"a": ["x"], "b": ["y"], "c": ["y"]}, {"b": 5.0, "c": None}, ALONE)
    assert [(group.key, group.values, group.starts, group.unknown) for group in groups] == [
        ("y", (5.0,), 2, 1),
        ("x", (), 1, 1),
    ]


def test_a_run_is_in_each_of_its_groups() -> None:
    groups = group_runs({"a": ["x", "y"]}, {"a": 1.0}, ALONE)
    assert [group.run_ids for group in groups] == [("a",), ("a",)]


def test_several_points_of_a_run_count_once() -> None:
    points = [
        ChartPoint("a", "a", 1, 10.0, "c"),
        ChartPoint("a", "a", 1, 1000.0, "c"),
        ChartPoint("b", "b", 1, 100.0, "c"),
    ]
    (mark,) = mean_marks(points, lambda one: one.x, lambda one: "arm", ALONE, is_x_averaged=False)
    assert (mark.x, mark.y, mark.starts, mark.run_ids) == (1, pytest.approx(100.0), 2, ("a", "b"))
    assert mark.y_interval is None and mark.x_interval is None, "two starts that are alike tell no spread"
    assert [single_mark.y for single_mark in single_marks(points)] == [10.0, 1000.0, 100.0]


def test_an_averaged_x_has_an_interval_too() -> None:
    points = [ChartPoint("a", "a", 10, 1.0, ""), ChartPoint("b", "b", 20, 2.0, "")]
    (mark,) = mean_marks(points, lambda one: 0, lambda one: one.name, ALONE, is_x_averaged=True)
    assert mark.x == pytest.approx(math.sqrt(200)) and mark.x_interval and mark.x_interval[0] < 10
