"""Explore's charts of points, lines over a field and distributions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from analysis.chart_points import ChartMark
from storage.queries.explore_queries import STARTED
from web.charts import DRAWN_GROUND, plain, styled
from web.explore.controls import DISTRIBUTION, LINE, ExploreSelection
from web.explore.facets import lay_out_grid, panels, sort_key, sorted_values, subplot_options
from web.theme import EXCLUDED, HUE_COUNT, run_color, run_dash, three_digits
from web.times import format_time, zone_name

HEIGHT_PX = 520
MOST_COLORS = HUE_COUNT
MOST_COUNTS = 12  # on an axis; with more, Plotly uses whole numbers by itself
OTHER_COLORS = "others"
SubplotOptions = Mapping[str, Any]  # Plotly's options for a trace on a facet's chart


def explore_figure(marks: Sequence[ChartMark], selection: ExploreSelection) -> go.Figure:
    """Return points, lines or boxes by colour, with one chart per facet; each point carries its run ids."""
    figure = go.Figure()
    charts, _ = panels(marks)
    add = {DISTRIBUTION: _add_boxes, LINE: _add_line}.get(selection.kind, _add_points)
    for color_index, (color, color_marks) in enumerate(
        _by_color([mark for _, panel_marks in charts for mark in panel_marks]).items()
    ):
        shade = EXCLUDED[DRAWN_GROUND] if color == OTHER_COLORS else run_color(color_index, DRAWN_GROUND)
        facet_marks = [
            (number, facet, marks_here)
            for number, (facet, _) in enumerate(charts)
            if (marks_here := _marks_of_facet(color_marks, facet))
        ]
        for number, facet, marks_here in facet_marks:
            subplot = (
                subplot_options(number, facet, plain(color), number == facet_marks[0][0])
                if selection.view.facet
                else {}
            )
            add(figure, marks_here, plain(color), shade, subplot)
            if selection.kind == LINE:
                figure.data[-1].line.dash = run_dash(color_index)
    apply_layout(figure, selection, legend=bool(selection.view.color))
    if selection.kind == DISTRIBUTION:
        figure.update_xaxes(categoryorder="array", categoryarray=_x_values([*_mark_by_x(marks).values()]))
    if selection.view.facet:
        lay_out_grid(figure, [facet for facet, _ in charts])
    if selection.kind != DISTRIBUTION and _are_few_counts([mark.x for mark in marks]):
        figure.update_xaxes(dtick=1)
    return figure


def _are_few_counts(values: Sequence[Any]) -> bool:
    """Whether these are close whole numbers, between which Plotly would put halves: nothing drafts 1.5 tokens."""
    are_whole = bool(values) and all(isinstance(value, int) and not isinstance(value, bool) for value in values)
    return are_whole and max(values) - min(values) <= MOST_COUNTS


def _marks_of_facet(marks: Sequence[ChartMark], facet: str) -> list[ChartMark]:
    return [mark for mark in marks if mark.facet == facet]


def _mark_by_x(marks: Sequence[ChartMark]) -> dict[Any, ChartMark]:
    """Return one mark per value on the horizontal axis, in order; side-by-side charts share the axis."""
    mark_by_x = {mark.x: mark for mark in marks}
    return {x: mark_by_x[x] for x in sorted_values(mark_by_x)}


def _by_color(marks: Sequence[ChartMark]) -> dict[str, list[ChartMark]]:
    """Group the marks by colour; beyond the distinguishable colours, the rarest are 'others'."""
    counts = Counter(mark.color for mark in marks)
    common_colors = {color for color, _ in counts.most_common(MOST_COLORS - (len(counts) > MOST_COLORS))}
    marks_by_color: dict[str, list[ChartMark]] = {}
    for color in sorted_values(counts):
        for mark in (mark for mark in marks if mark.color == color):
            marks_by_color.setdefault(color if color in common_colors else OTHER_COLORS, []).append(mark)
    return marks_by_color


def _add_points(figure: go.Figure, marks: Sequence[ChartMark], name: str, color: str, subplot: SubplotOptions) -> None:
    marker = {"color": color, "size": 10, "opacity": 0.85}
    figure.add_scatter(
        mode="markers", marker=marker, error_x=_bars(marks, "x"), **_trace_options(marks, name), **subplot
    )


def _add_line(figure: go.Figure, marks: Sequence[ChartMark], name: str, color: str, subplot: SubplotOptions) -> None:
    marks = sorted(marks, key=lambda mark: sort_key(mark.x))
    style = {"line": {"color": color, "width": 2}, "marker": {"color": color, "size": 8}}
    figure.add_scatter(mode="lines+markers", **style, **_trace_options(marks, name), **subplot)


def _add_boxes(figure: go.Figure, marks: Sequence[ChartMark], name: str, color: str, subplot: SubplotOptions) -> None:
    figure.add_box(
        x=_x_values(marks), y=[mark.y for mark in marks], name=name, boxpoints="all", jitter=0.5, pointpos=0,
        marker={"color": color, "size": 6}, line={"color": color}, customdata=[list(mark.run_ids) for mark in marks],
        hovertext=[_hover_text(mark) for mark in marks], hoverinfo="text", **subplot,
    )  # fmt: skip


def _trace_options(marks: Sequence[ChartMark], name: str) -> dict[str, Any]:
    return {
        "x": _x_values(marks),
        "y": [mark.y for mark in marks],
        "name": name,
        "customdata": [list(mark.run_ids) for mark in marks],
        "hovertext": [_hover_text(mark) for mark in marks],
        "hoverinfo": "text",
        "error_y": _bars(marks, "y"),
    }


def _x_values(marks: Sequence[ChartMark]) -> list[Any]:
    return [plain(mark.x) if isinstance(mark.x, str) else mark.x for mark in marks]


def _bars(marks: Sequence[ChartMark], axis: str) -> dict[str, Any]:
    """Plotly's error bars, without caps: it would draw those of a mark without an interval as a cross."""
    intervals = [(getattr(mark, f"{axis}_interval"), getattr(mark, axis)) for mark in marks]
    up = [interval[1] - value if interval else None for interval, value in intervals]
    down = [value - interval[0] if interval else None for interval, value in intervals]
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "thickness": 1.5, "width": 0}


def _hover_text(mark: ChartMark) -> str:
    """The hover text of a point."""
    interval = mark.y_interval
    parts = [three_digits(mark.y) + (f" ({' to '.join(map(three_digits, interval))})" if interval else "")]
    parts += (
        []
        if isinstance(mark.x, str) and not mark.x
        else [f"at {mark.x if isinstance(mark.x, str) else _x_text(mark.x)}"]
    )
    return plain(f"{mark.name}: {' '.join(parts)}" + (f", {start_count(mark)}" if len(mark.run_ids) > 1 else ""))


def _x_text(value: Any) -> str:
    return three_digits(float(value)) if isinstance(value, int | float) else format_time(value)


def start_count(mark: ChartMark) -> str:
    """'3 starts' (server starts)."""
    return f"{mark.starts} start{'s' * (mark.starts != 1)}"


def apply_layout(figure: go.Figure, selection: ExploreSelection, legend: bool) -> go.Figure:
    """Apply the common layout: size, axis titles and legend title."""
    titles: Mapping[str, str] = selection.titles
    zone = f", {zone_name()}" if selection.view.x == STARTED else ""
    axis: dict[str, Any] = {"title": {"text": plain(titles[selection.view.x] + zone)}}
    if selection.kind == DISTRIBUTION:
        axis["type"] = "category"
    styled(figure, axis, legend)
    figure.update_layout(height=HEIGHT_PX, yaxis={"title": {"text": plain(titles[selection.view.y])}})
    names = {"title": {"text": plain(titles.get(selection.view.color, ""))}}
    figure.update_layout(boxmode="group", legend=names)
    return figure
