"""The chart of one viewpoint against another on Compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from analysis.decide.frontier import FrontierPoint
from web import charts
from web.compare.answer.overview import Colors
from web.compare.viewpoints.frontier_plots import Plot, axis_title
from web.theme import EXCLUDED, MUTED, run_color

ABOUT = (
    "One point per arm: the mean of its starts, with 95 % intervals. The line is the frontier of the ranked arms; "
    "hollow points are not ranked, or were watched or imported. A number at a point is its concurrency."
)
HEIGHT_PX = 420
# Arms of similar speed lie close together, so their labels go to different corners.
CORNERS = ("top left", "bottom right", "top right", "bottom left")


def frontier_chart(frontier_plots: Sequence[Plot], arms: Mapping[str, str], colors: Colors) -> None:
    """Show one chart, selected by its two axes, or say that there is nothing to draw."""
    if not frontier_plots:
        st.caption("There is no chart: no two viewpoints have values for at least two arms.")
        return
    with st.container(horizontal=True):
        y_title = st.selectbox("Draw", list(dict.fromkeys(plot.y.title for plot in frontier_plots)), key="frontier-y")
        plots_by_x = {plot.x.title: plot for plot in frontier_plots if plot.y.title == y_title}
        plot = plots_by_x[st.selectbox("against", list(plots_by_x), key=f"frontier-x-{y_title}")]
    charts.still_chart(_figure(plot, arms, colors), plot.title, "frontier-chart")
    st.caption(ABOUT)


def _figure(plot: Plot, arms: Mapping[str, str], colors: Colors) -> go.Figure:
    ground, figure = charts.DRAWN_GROUND, go.Figure()
    line = {"color": MUTED[ground], "width": 1, "dash": "dot"}
    xs, ys = [point.x for point in plot.best], [point.y for point in plot.best]
    figure.add_scatter(x=xs, y=ys, mode="lines", line=line, hoverinfo="skip", showlegend=False)
    for number, (arm_id, name) in enumerate(arms.items()):
        arm_points = [point for point in plot.points if point.arm_id == arm_id]
        figure.add_scatter(
            x=[point.x for point in arm_points], y=[point.y for point in arm_points], mode="markers+text",
            name=charts.plain(name), text=[_at_point(point) for point in arm_points], cliponaxis=False,
            textposition=CORNERS[number % len(CORNERS)], hovertext=[charts.plain(point.note) for point in arm_points],
            error_x=_bars([point.x_interval for point in arm_points], arm_points, "x"),
            error_y=_bars([point.y_interval for point in arm_points], arm_points, "y"),
            marker={
                "color": run_color(colors[arm_id], ground), "size": 10,
                "symbol": ["circle" if point.is_comparable else "circle-open" for point in arm_points],
                "line": {"color": run_color(colors[arm_id], ground), "width": 2},
            },
        )  # fmt: skip
    charts.styled(figure, {"title": {"text": axis_title(plot.x)}}, legend=True)
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    figure.update_layout(height=HEIGHT_PX, legend=legend, yaxis={"title": {"text": axis_title(plot.y)}})
    figure.update_xaxes(linecolor=EXCLUDED[ground])
    return figure


def _at_point(point: FrontierPoint) -> str:
    """The shortest label: the concurrency alone."""
    return charts.plain(point.note.replace(" at once", ""))


def _bars(
    intervals: Sequence[tuple[float, float] | None], points: Sequence[FrontierPoint], axis: str
) -> dict[str, Any]:
    """Plotly's error bars; of length zero if the interval is not known."""
    values = [getattr(point, axis) for point in points]
    pairs = list(zip(intervals, values, strict=True))
    up = [interval[1] - value if interval else 0.0 for interval, value in pairs]
    down = [value - interval[0] if interval else 0.0 for interval, value in pairs]
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "thickness": 1}
