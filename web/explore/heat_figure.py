"""Plotly figures of Explore's heat map: one map, or small ones by facet on a common colour scale."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import plotly.graph_objects as go
from plotly.colors import hex_to_rgb, sequential

from analysis.chart_points import ChartMark
from web.charts import DRAWN_GROUND, plain
from web.explore.controls import ExploreSelection
from web.explore.facets import lay_out_grid, panels, sorted_values, subplot_options
from web.explore.figures import apply_layout, start_count
from web.theme import TEXT, three_digits

DARK, LIGHT = "#000000", "#ffffff"  # one of the two has a contrast of at least 4.5 on any colour
EVEN_LUMINANCE = 0.179  # both have the same contrast here
_COLORS = sequential.Cividis
SCALE = tuple((index / (len(_COLORS) - 1), color) for index, color in enumerate(_COLORS))
Rgb = tuple[float, ...]

Axis = list[Any]


def heat_figure(marks: Sequence[ChartMark], selection: ExploreSelection) -> go.Figure:
    """Return the figure with one cell per pair of values; a cell without runs is empty."""
    charts, _ = panels(marks)
    drawn_marks = [mark for _, panel_marks in charts for mark in panel_marks]
    xs, ys = sorted_values(mark.x for mark in drawn_marks), sorted_values(mark.color for mark in drawn_marks)
    values = [mark.y for mark in drawn_marks]
    value_range = min(values, default=0.0), max(values, default=0.0)
    figure = go.Figure()
    for number, (facet, panel_marks) in enumerate(charts):
        subplot = subplot_options(number, facet, "", False) if selection.view.facet else {}
        figure.add_heatmap(**_heatmap_trace(panel_marks, xs, ys, value_range, is_small=bool(subplot)), **subplot)
    apply_layout(figure, selection, legend=False)
    _style_axes(figure, selection)
    if selection.view.facet:
        lay_out_grid(figure, [facet for facet, _ in charts])
    return figure


def cell_key(mark: ChartMark) -> list[str]:
    """Return a cell's identity, reported when it is pressed: its column, row and facet."""
    return [str(mark.x), mark.color, *([mark.facet] if mark.facet else [])]


def _heatmap_trace(
    marks: Sequence[ChartMark], xs: Axis, ys: Axis, value_range: tuple[float, float], is_small: bool
) -> dict[str, Any]:
    """One map over the values of all maps, so that all have the same cells.

    A small cell has room for its number only; its starts are in the hover text.
    """
    by_cell = {(str(mark.color), str(mark.x)): mark for mark in marks}
    cells = [[by_cell.get((str(y), str(x))) for x in xs] for y in ys]
    hover_texts = [[_hover_text(mark) if mark else "" for mark in row] for row in cells]
    return {
        "x": [plain(str(x)) for x in xs],
        "y": [plain(str(y)) for y in ys],
        "z": [[mark and mark.y for mark in row] for row in cells],
        "text": [[_cell_text(mark, value_range, is_small) for mark in row] for row in cells],
        "hovertext": hover_texts,
        "customdata": [[[json.dumps(cell_key(mark))] if mark else [] for mark in row] for row in cells],
        "texttemplate": "%{text}",
        "hovertemplate": "%{x}, %{y}: %{hovertext}<extra></extra>",
        "hoverongaps": False,
        "coloraxis": "coloraxis",
    }


def _hover_text(mark: ChartMark) -> str:
    return f"{three_digits(mark.y)}<br>{start_count(mark)}"


def _cell_text(mark: ChartMark | None, value_range: tuple[float, float], is_small: bool) -> str:
    if mark is None:
        return ""
    return with_ink(three_digits(mark.y) if is_small else _hover_text(mark), mark.y, *value_range)


def _style_axes(figure: go.Figure, selection: ExploreSelection) -> None:
    title = {"text": plain(selection.titles[selection.view.y])}
    figure.update_layout(coloraxis={"colorscale": SCALE, "colorbar": {"title": title}})
    figure.update_xaxes(type="category")
    rows = {"text": plain(selection.titles[selection.view.color]), "standoff": 12}  # clear of long values
    figure.update_yaxes(type="category", title=rows, rangemode="normal", automargin=True)
    figure.update_layout(font={"color": TEXT[DRAWN_GROUND]})


def with_ink(text: str, value: float, low: float, high: float) -> str:
    """Return a cell's text in a readable colour. text: no markup except line breaks; low, high: the scale's ends."""
    ink = DARK if _luminance(color_of(value, low, high)) > EVEN_LUMINANCE else LIGHT
    return f'<span style="color:{ink}">{text}</span>'


def color_of(value: float, low: float, high: float) -> Rgb:
    """Return the colour that Plotly gives a value on the scale, as three channels of 0 to 255."""
    share = (value - low) / (high - low) if high > low else 0.5
    (begin, first), (end, second) = next(
        pair for pair in pairwise(SCALE) if share <= pair[1][0] or pair[1][0] == SCALE[-1][0]
    )
    fraction = (share - begin) / (end - begin)
    return tuple(a + fraction * (b - a) for a, b in zip(hex_to_rgb(first), hex_to_rgb(second), strict=True))


def _luminance(color: Rgb) -> float:
    """Relative luminance by WCAG 2: 0 for black, 1 for white."""
    shares = [channel / 255 for channel in color]
    linear = [share / 12.92 if share <= 0.03928 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
