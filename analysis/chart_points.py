"""Points of a chart over many runs: single runs, or means of grouped runs with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.run_groups import RunGroup, group_runs
from analysis.verdict.mean import mean_of


@dataclass(frozen=True, slots=True)
class ChartPoint:
    """One number of a run plotted against another number or a field of that run."""

    run_id: str
    name: str
    x: Any
    y: float
    color: str
    facet: str = ""


@dataclass(frozen=True, slots=True)
class ChartMark:
    """One mark of the chart: a run, or several runs with the mean of their server starts."""

    x: Any
    y: float
    color: str
    name: str
    run_ids: tuple[str, ...]
    starts: int = 1
    x_interval: tuple[float, float] | None = None  # 95 %
    y_interval: tuple[float, float] | None = None
    facet: str = ""  # title of its small multiple


def single_marks(points: Sequence[ChartPoint]) -> list[ChartMark]:
    """Return one mark per point."""
    return [
        ChartMark(point.x, point.y, point.color, point.name, (point.run_id,), facet=point.facet) for point in points
    ]


def mean_marks(
    points: Sequence[ChartPoint],
    key_of: Callable[[ChartPoint], Hashable],
    name_of: Callable[[ChartPoint], str],
    processes: Mapping[str, frozenset[str]],
    is_x_averaged: bool,
) -> list[ChartMark]:
    """Return one mark per key and facet, in the order in which the keys first occur.

    is_x_averaged: x is averaged like y; otherwise all points of a key share the same x.
    """
    groups: dict[Hashable, list[ChartPoint]] = {}
    for point in points:
        groups.setdefault((key_of(point), point.facet), []).append(point)
    return [_mark(group, name_of(group[0]), processes, is_x_averaged) for group in groups.values()]


def _mark(
    points: Sequence[ChartPoint], name: str, processes: Mapping[str, frozenset[str]], is_x_averaged: bool
) -> ChartMark:
    y = _group_starts(points, lambda point: point.y, processes)
    x = _group_starts(points, lambda point: float(point.x), processes) if is_x_averaged else None
    first = points[0]
    return ChartMark(
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


def _group_starts(
    points: Sequence[ChartPoint], number_of: Callable[[ChartPoint], float], processes: Mapping[str, frozenset[str]]
) -> RunGroup:
    """Group the numbers by server start; several points of a run count as their mean."""
    by_run: dict[str, list[float]] = {}
    for point in points:
        by_run.setdefault(point.run_id, []).append(number_of(point))
    values = {run_id: mean_of(numbers) for run_id, numbers in by_run.items()}
    return group_runs({run_id: [""] for run_id in by_run}, values, processes)[0]
