"""The heat map of Explore as Plotly gets it: one, or a small one for each value of a field with the same colours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from analysis.marks import Mark
from web.charts import DRAWN_ON, plain
from web.explore.choices import Chosen
from web.explore.facets import lay_beside, on_chart, ordered, panels
from web.explore.figures import laid_out, starts_of
from web.explore.heat_colors import SCALE, inked
from web.theme import TEXT, three_digits

Axis = list[Any]


def heat_of(marks: Sequence[Mark], chosen: Chosen) -> go.Figure:
    """A cell for each pair of values, with its place; an empty cell is one of which no run is known."""
    charts, _ = panels(marks)
    drawn = [mark for _, some in charts for mark in some]
    xs, ys = ordered(mark.x for mark in drawn), ordered(mark.color for mark in drawn)
    values = [mark.y for mark in drawn]
    ends = min(values, default=0.0), max(values, default=0.0)
    figure = go.Figure()
    for number, (facet, some) in enumerate(charts):
        where = on_chart(number, facet, "", False) if chosen.view.facet else {}
        figure.add_heatmap(**_map(some, xs, ys, ends, is_small=bool(where)), **where)
    laid_out(figure, chosen, legend=False)
    _color_and_name(figure, chosen)
    if chosen.view.facet:
        lay_beside(figure, [facet for facet, _ in charts])
    return figure


def place_of(mark: Mark) -> list[str]:
    """What a cell says of itself when it is pressed: the same runs may be in several."""
    return [str(mark.x), mark.color, *([mark.facet] if mark.facet else [])]


def _map(marks: Sequence[Mark], xs: Axis, ys: Axis, ends: tuple[float, float], is_small: bool) -> dict[str, Any]:
    """One map over all values, those that only other maps have included: so all maps have the same places.

    A cell of a small one has room for its number alone; it says its starts when it is pointed at.
    """
    by_place = {(str(mark.color), str(mark.x)): mark for mark in marks}
    cells = [[by_place.get((str(y), str(x))) for x in xs] for y in ys]
    words = [[_words(mark) if mark else "" for mark in row] for row in cells]
    return {
        "x": [plain(str(x)) for x in xs],
        "y": [plain(str(y)) for y in ys],
        "z": [[mark and mark.y for mark in row] for row in cells],
        "text": [[_told(mark, ends, is_small) for mark in row] for row in cells],
        "hovertext": words,
        "customdata": [[[json.dumps(place_of(mark))] if mark else [] for mark in row] for row in cells],
        "texttemplate": "%{text}",
        "hovertemplate": "%{x}, %{y}: %{hovertext}<extra></extra>",
        "hoverongaps": False,
        "coloraxis": "coloraxis",
    }


def _words(mark: Mark) -> str:
    return f"{three_digits(mark.y)}<br>{starts_of(mark)}"


def _told(mark: Mark | None, ends: tuple[float, float], is_small: bool) -> str:
    if mark is None:
        return ""
    return inked(three_digits(mark.y) if is_small else _words(mark), mark.y, *ends)


def _color_and_name(figure: go.Figure, chosen: Chosen) -> None:
    title = {"text": plain(chosen.titles[chosen.view.y])}
    figure.update_layout(coloraxis={"colorscale": SCALE, "colorbar": {"title": title}})
    figure.update_xaxes(type="category")
    rows = {"text": plain(chosen.titles[chosen.view.color]), "standoff": 12}  # beside the values, however long
    figure.update_yaxes(type="category", title=rows, rangemode="normal", automargin=True)
    figure.update_layout(font={"color": TEXT[DRAWN_ON]})
