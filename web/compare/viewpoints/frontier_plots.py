"""Plots of any two viewpoints for which arms have values, and of per-user against total speed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

from analysis.decide.frontier import FrontierPoint, frontier, points_of
from analysis.decide.rank import Ranking
from analysis.decide.viewpoints import Viewpoint, ViewpointTerms
from reports.arms.load_curve import GPU, USER
from web.words import lower_first

FIRST_PAIRS = (
    (Viewpoint.FIDELITY, Viewpoint.COMPARED),
    (Viewpoint.QUALITY, Viewpoint.COST),
    (Viewpoint.COMPARED, Viewpoint.TTFT),
)


class Plot(NamedTuple):
    """One chart: its points, and those of the frontier in order."""

    x: ViewpointTerms
    y: ViewpointTerms
    points: list[FrontierPoint]
    best: list[FrontierPoint]

    @property
    def title(self) -> str:
        return f"{self.y.title} against {lower_first(self.x.title)}"


def plots(rankings: Sequence[Ranking], curve: Sequence[FrontierPoint]) -> list[Plot]:
    """Return the plots with two or more points; the load curve first, then the most popular pairs."""
    usable = [
        ranking for ranking in rankings if sum(candidate.value is not None for candidate in ranking.candidates) > 1
    ]
    pairs = sorted(permutations(usable, 2), key=_place)
    viewpoint_plots = [_plot(x.view, y.view, points_of(x, y)) for x, y in pairs]
    return [plot for plot in [_plot(USER, GPU, list(curve)), *viewpoint_plots] if len(plot.points) > 1]


def _place(pair: Sequence[Ranking]) -> int:
    """Return the pair's place in FIRST_PAIRS; pairs that are not in it follow."""
    viewpoints = tuple(ranking.viewpoint for ranking in pair)
    return FIRST_PAIRS.index(viewpoints) if viewpoints in FIRST_PAIRS else len(FIRST_PAIRS)


def _plot(x: ViewpointTerms, y: ViewpointTerms, points: list[FrontierPoint]) -> Plot:
    return Plot(x, y, points, frontier(points, x.higher_is_better, y.higher_is_better))


def axis_title(view: ViewpointTerms) -> str:
    """'Cost, per million tokens; less is better'."""
    unit = f", {view.unit}" if view.unit else ""
    return f"{view.title}{unit}; {'more' if view.higher_is_better else 'less'} is better"
