"""Small charts side by side with shared axes, one per value of a field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import unescape
from math import ceil
from typing import Any

import plotly.graph_objects as go

from analysis.chart_points import ChartMark
from web.charts import is_phone, plain

MOST_FACETS = 8
ROW_PX, ROW_ON_PHONE_PX = 250, 190
GAP_X, GAP_Y_PX = 0.03, 40  # a fraction of the width; pixels for the title between two rows
LONGEST_TITLE, LONGEST_ON_PHONE = 34, 16
LONGEST_LABEL, LONGEST_ROW_ON_PHONE, LETTER_PX = 14, 8, 7
NUMBER_PX = 30  # width of a number beside a chart
WIDTH_PX, WIDTH_ON_PHONE_PX = 1100, 260  # of a whole row, approximately
COLUMNS = {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3, 7: 4, 8: 4}
COLUMNS_ON_PHONE = 2

Panel = tuple[str, list[ChartMark]]


def panels(marks: Sequence[ChartMark]) -> tuple[list[Panel], list[Panel]]:
    """Split the marks by facet value: the panels that are drawn, and the rarest ones beyond the limit."""
    counts = Counter(mark.facet for mark in marks)
    most = {facet for facet, _ in counts.most_common(MOST_FACETS)}
    facet_panels = [(facet, [mark for mark in marks if mark.facet == facet]) for facet in sorted_values(counts)]
    return [panel for panel in facet_panels if panel[0] in most], [
        panel for panel in facet_panels if panel[0] not in most
    ]


def runs_in(charts: Iterable[Panel]) -> set[str]:
    """Return the ids of the runs in these panels."""
    return {run_id for _, marks in charts for mark in marks for run_id in mark.run_ids}


def sorted_values(values: Iterable[Any]) -> list[Any]:
    """Return the distinct values, numbers by size and before texts."""
    return sorted(dict.fromkeys(values), key=sort_key)


def sort_key(value: Any) -> tuple[int, float, str]:
    """Return a sort key that puts numbers before texts."""
    try:
        return 0, float(value), ""
    except (TypeError, ValueError):
        return 1, 0.0, str(value)


def subplot_options(number: int, facet: str, color: str, is_first: bool) -> dict[str, Any]:
    """Return Plotly's trace options for chart `number`, from 0; a colour appears once in the legend."""
    axes = {"xaxis": f"x{number + 1}", "yaxis": f"y{number + 1}"} if number else {}
    return {**axes, "legendgroup": color, "showlegend": is_first, "meta": facet}


def lay_out_grid(figure: go.Figure, facets: Sequence[str]) -> None:
    """Turn the figure's axes into a grid of charts with a common range, and title each chart."""
    columns = min(COLUMNS[len(facets)], COLUMNS_ON_PHONE if is_phone() else MOST_FACETS)
    rows = ceil(len(facets) / columns)
    height = rows * (ROW_ON_PHONE_PX if is_phone() else ROW_PX)
    label_width = _fit_row_labels(figure)
    label_height = _fit_column_labels(figure, WIDTH_ON_PHONE_PX / columns if is_phone() else WIDTH_PX / columns)
    titles = (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text)
    figure.update_layout(xaxis={"title": {"text": ""}}, yaxis={"title": {"text": ""}})
    x_axis, y_axis = figure.layout.xaxis.to_plotly_json(), figure.layout.yaxis.to_plotly_json()
    max_title = LONGEST_ON_PHONE if is_phone() else LONGEST_TITLE
    for number, facet in enumerate(facets):
        row, column = divmod(number, columns)
        x_domain, y_domain = _domain(column, columns, GAP_X), _domain(rows - 1 - row, rows, GAP_Y_PX / height)
        axis_suffix, matched_axes = (str(number + 1), {"x": "x", "y": "y"}) if number else ("", {"x": None, "y": None})
        x = {**x_axis, "matches": matched_axes["x"], "domain": x_domain, "anchor": f"y{axis_suffix}"}
        y = {**y_axis, "matches": matched_axes["y"], "domain": y_domain, "anchor": f"x{axis_suffix}"}
        x["showticklabels"], y["showticklabels"] = number + columns >= len(facets), column == 0
        figure.update_layout({f"xaxis{axis_suffix}": x, f"yaxis{axis_suffix}": y})
        title = plain(_shortened(facet, max_title))
        _annotate(figure, title, x=sum(x_domain) / 2, xanchor="center", y=y_domain[1], yanchor="bottom")
    _annotate(figure, titles[0], x=0.5, y=0, yanchor="top", yshift=-24 - label_height)
    _annotate(figure, titles[1], x=0, y=0.5, xanchor="right", xshift=-44 - label_width, textangle=-90)
    figure.update_layout(
        height=height + 60 + label_height, margin={"l": 68 + label_width, "r": 12, "t": 30, "b": 56 + label_height}
    )


def _fit_column_labels(figure: go.Figure, width_px: float) -> int:
    """Fit horizontal axis labels to a chart of this width; return the extra height they need, in pixels."""
    values, words, longest = _axis_texts([x for trace in figure.data for x in trace.x], LONGEST_LABEL)
    if not values:
        return 0
    is_upright = longest * len(words) > width_px
    figure.update_xaxes(
        tickmode="array", tickvals=values, ticktext=words, tickangle=-90 if is_upright else 0, automargin=False
    )
    return longest if is_upright else 0


def _fit_row_labels(figure: go.Figure) -> int:
    """Fit vertical axis labels; return how much more width they need than numbers, in pixels."""
    max_length = LONGEST_ROW_ON_PHONE if is_phone() else LONGEST_LABEL
    values, words, longest = _axis_texts([y for trace in figure.data for y in trace.y], max_length)
    if not values:
        return 0
    figure.update_yaxes(tickmode="array", tickvals=values, ticktext=words, automargin=False)
    return max(0, longest - NUMBER_PX)


def _axis_texts(values: Iterable[Any], max_length: int) -> tuple[list[Any], list[str], int]:
    """Return an axis' values in order, their labels, and the longest label's width in pixels; empty for numbers."""
    distinct = sorted_values(values)
    if not any(isinstance(value, str) for value in distinct):
        return [], [], 0
    texts = [plain(_shortened(unescape(str(value)), max_length)) for value in distinct]
    return distinct, texts, max(map(len, texts)) * LETTER_PX


def _annotate(figure: go.Figure, text: str, **position: Any) -> None:
    figure.add_annotation(text=text, xref="paper", yref="paper", showarrow=False, **position)


def _shortened(text: str, max_length: int) -> str:
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


def _domain(index: int, count: int, gap: float) -> list[float]:
    size = (1 - gap * (count - 1)) / count
    return [index * (size + gap), index * (size + gap) + size]
