"""What a chart over many runs draws: each point, or the mean of those that belong together with its interval."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.run_groups import RunGroup, run_groups
from analysis.verdict.mean import mean_of


@dataclass(frozen=True, slots=True)
class Point:
    """One number of a run against another, or against a field of it."""

    run_id: str
    name: str
    x: Any
    y: float
    color: str
    facet: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """One point of the chart: of a run, or of several with the mean of their server starts."""

    x: Any
    y: float
    color: str
    name: str
    run_ids: tuple[str, ...]
    starts: int = 1
    x_interval: tuple[float, float] | None = None  # 95 %
    y_interval: tuple[float, float] | None = None
    facet: str = ""  # of which small chart


def single(points: Sequence[Point]) -> list[Mark]:
    """A mark a point."""
    return [Mark(one.x, one.y, one.color, one.name, (one.run_id,), facet=one.facet) for one in points]


def together(
    points: Sequence[Point],
    key_of: Callable[[Point], Hashable],
    name_of: Callable[[Point], str],
    processes: Mapping[str, frozenset[str]],
    is_x_averaged: bool,
) -> list[Mark]:
    """A mark for the points of each key and facet, in the order in which the keys are first met.

    is_x_averaged: x is a number of which the mean is drawn; else all points of a key have the same.
    """
    groups: dict[Hashable, list[Point]] = {}
    for point in points:
        groups.setdefault((key_of(point), point.facet), []).append(point)
    return [_mark(group, name_of(group[0]), processes, is_x_averaged) for group in groups.values()]


def _mark(points: Sequence[Point], name: str, processes: Mapping[str, frozenset[str]], is_x_averaged: bool) -> Mark:
    y = _starts(points, lambda one: one.y, processes)
    x = _starts(points, lambda one: float(one.x), processes) if is_x_averaged else None
    first = points[0]
    return Mark(
        x.mean if x else first.x,
        y.mean if y.mean is not None else first.y,
        first.color,
        name,
        y.run_ids,
        y.starts,
        x.interval if x else None,
        y.interval,
        first.facet,
    )


def _starts(
    points: Sequence[Point], number_of: Callable[[Point], float], processes: Mapping[str, frozenset[str]]
) -> RunGroup:
    """The numbers by server start: of several points of a run their mean."""
    by_run: dict[str, list[float]] = {}
    for point in points:
        by_run.setdefault(point.run_id, []).append(number_of(point))
    values = {run_id: mean_of(numbers) for run_id, numbers in by_run.items()}
    return run_groups({run_id: [""] for run_id in by_run}, values, processes)[0]
