"""Small charts beside each other, one for each value of a field, on the same axes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import unescape
from math import ceil
from typing import Any

import plotly.graph_objects as go

from analysis.marks import Mark
from web.charts import is_phone, plain

MOST_FACETS = 8
ROW_PX, ROW_ON_PHONE_PX = 250, 190
GAP_X, GAP_Y_PX = 0.03, 40  # of the width; a title stands between two rows
LONGEST_TITLE, LONGEST_ON_PHONE = 34, 16
LONGEST_LABEL, LONGEST_ROW_ON_PHONE, LETTER_PX = 14, 8, 7
NUMBER_PX = 30  # of a height, beside a chart
WIDTH_PX, WIDTH_ON_PHONE_PX = 1100, 260  # of all charts of a row, about
COLUMNS = {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3, 7: 4, 8: 4}
COLUMNS_ON_PHONE = 2

Panel = tuple[str, list[Mark]]


def panels(marks: Sequence[Mark]) -> tuple[list[Panel], list[Panel]]:
    """The marks by the value of their facet: those that are drawn, and the rarest of more than can be told apart."""
    counts = Counter(mark.facet for mark in marks)
    most = {facet for facet, _ in counts.most_common(MOST_FACETS)}
    found = [(facet, [mark for mark in marks if mark.facet == facet]) for facet in ordered(counts)]
    return [one for one in found if one[0] in most], [one for one in found if one[0] not in most]


def runs_in(charts: Iterable[Panel]) -> set[str]:
    """The ids of the runs of these charts."""
    return {run_id for _, marks in charts for mark in marks for run_id in mark.run_ids}


def ordered(values: Iterable[Any]) -> list[Any]:
    """Each once, numbers by size and before texts."""
    return sorted(dict.fromkeys(values), key=by_size)


def by_size(value: Any) -> tuple[int, float, str]:
    """What orders a number before a text."""
    try:
        return 0, float(value), ""
    except (TypeError, ValueError):
        return 1, 0.0, str(value)


def on_chart(number: int, facet: str, color: str, is_first: bool) -> dict[str, Any]:
    """What Plotly gets for a trace on the chart of this number, counted from 0; a colour is named once for all."""
    axes = {"xaxis": f"x{number + 1}", "yaxis": f"y{number + 1}"} if number else {}
    return {**axes, "legendgroup": color, "showlegend": is_first, "meta": facet}


def lay_beside(figure: go.Figure, facets: Sequence[str]) -> None:
    """Make of the one chart's axes those of a grid, all with the same range, and name each chart."""
    columns = min(COLUMNS[len(facets)], COLUMNS_ON_PHONE if is_phone() else MOST_FACETS)
    rows = ceil(len(facets) / columns)
    height = rows * (ROW_ON_PHONE_PX if is_phone() else ROW_PX)
    beside = _label_rows(figure)
    below = _label(figure, WIDTH_ON_PHONE_PX / columns if is_phone() else WIDTH_PX / columns)
    titles = (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text)
    figure.update_layout(xaxis={"title": {"text": ""}}, yaxis={"title": {"text": ""}})
    across, above = figure.layout.xaxis.to_plotly_json(), figure.layout.yaxis.to_plotly_json()
    longest = LONGEST_ON_PHONE if is_phone() else LONGEST_TITLE
    for number, facet in enumerate(facets):
        row, column = divmod(number, columns)
        at_x, at_y = _domain(column, columns, GAP_X), _domain(rows - 1 - row, rows, GAP_Y_PX / height)
        name, same = (str(number + 1), {"x": "x", "y": "y"}) if number else ("", {"x": None, "y": None})
        x = {**across, "matches": same["x"], "domain": at_x, "anchor": f"y{name}"}
        y = {**above, "matches": same["y"], "domain": at_y, "anchor": f"x{name}"}
        x["showticklabels"], y["showticklabels"] = number + columns >= len(facets), column == 0
        figure.update_layout({f"xaxis{name}": x, f"yaxis{name}": y})
        title = plain(_short(facet, longest))
        _name(figure, title, x=sum(at_x) / 2, xanchor="center", y=at_y[1], yanchor="bottom")
    _name(figure, titles[0], x=0.5, y=0, yanchor="top", yshift=-24 - below)
    _name(figure, titles[1], x=0, y=0.5, xanchor="right", xshift=-44 - beside, textangle=-90)
    figure.update_layout(height=height + 60 + below, margin={"l": 68 + beside, "r": 12, "t": 30, "b": 56 + below})


def _label(figure: go.Figure, width_px: float) -> int:
    """Have texts on the horizontal axis fit below a chart of this width; how much more room they need, in pixels."""
    values, words, longest = _texts([x for trace in figure.data for x in trace.x], LONGEST_LABEL)
    if not values:
        return 0
    is_upright = longest * len(words) > width_px
    figure.update_xaxes(
        tickmode="array", tickvals=values, ticktext=words, tickangle=-90 if is_upright else 0, automargin=False
    )
    return longest if is_upright else 0


def _label_rows(figure: go.Figure) -> int:
    """Have texts on the vertical axis fit beside a chart; how much more room they need than numbers, in pixels."""
    most = LONGEST_ROW_ON_PHONE if is_phone() else LONGEST_LABEL
    values, words, longest = _texts([y for trace in figure.data for y in trace.y], most)
    if not values:
        return 0
    figure.update_yaxes(tickmode="array", tickvals=values, ticktext=words, automargin=False)
    return max(0, longest - NUMBER_PX)


def _texts(values: Iterable[Any], most: int) -> tuple[list[Any], list[str], int]:
    """The values of an axis in order, what is written for each, and how wide the longest is; nothing for numbers."""
    found = ordered(values)
    if not any(isinstance(value, str) for value in found):
        return [], [], 0
    words = [plain(_short(unescape(str(value)), most)) for value in found]
    return found, words, max(map(len, words)) * LETTER_PX


def _name(figure: go.Figure, text: str, **place: Any) -> None:
    figure.add_annotation(text=text, xref="paper", yref="paper", showarrow=False, **place)


def _short(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"


def _domain(place: int, count: int, gap: float) -> list[float]:
    size = (1 - gap * (count - 1)) / count
    return [place * (size + gap), place * (size + gap) + size]
