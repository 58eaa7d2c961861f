"""What may be drawn against what: any two viewpoints that arms have values of, and the two sides of load."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

from analysis.decide.frontier import Point, frontier, points_of
from analysis.decide.rank import Ranking
from analysis.decide.viewpoints import View, Viewpoint
from reports.arms.load_curve import GPU, USER
from web.words import in_a_sentence

FIRST = ((Viewpoint.QUALITY, Viewpoint.COST), (Viewpoint.COMPARED, Viewpoint.TTFT))


class Plot(NamedTuple):
    """One chart: points, and those of the frontier in order."""

    x: View
    y: View
    points: list[Point]
    best: list[Point]

    @property
    def title(self) -> str:
        return f"{self.y.title} against {in_a_sentence(self.x.title)}"


def plots(rankings: Sequence[Ranking], curve: Sequence[Point]) -> list[Plot]:
    """Each that has two points or more; load first, then those that people ask for most."""
    known = [one for one in rankings if sum(c.value is not None for c in one.candidates) > 1]
    pairs = sorted(permutations(known, 2), key=lambda pair: (pair[0].viewpoint, pair[1].viewpoint) not in FIRST)
    made = [_plot(x.view, y.view, points_of(x, y)) for x, y in pairs]
    return [one for one in [_plot(USER, GPU, list(curve)), *made] if len(one.points) > 1]


def _plot(x: View, y: View, points: list[Point]) -> Plot:
    return Plot(x, y, points, frontier(points, x.higher_is_better, y.higher_is_better))


def axis_words(view: View) -> str:
    """'Cost, per million tokens; less is better'."""
    unit = f", {view.unit}" if view.unit else ""
    return f"{view.title}{unit}; {'more' if view.higher_is_better else 'less'} is better"
