"""The chart of two viewpoints on Compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from analysis.decide.frontier import Point
from web import charts
from web.compare.answer.answer_cards import Colors
from web.compare.viewpoints.frontier_plots import Plot, axis_words
from web.theme import EXCLUDED, MUTED, run_color

ABOUT = (
    "A point an arm, by the mean of its starts, with 95 % intervals. The line is the frontier of those that may be "
    "ranked; hollow points may not, or were watched or imported. A number at a point is that of requests at once."
)
HEIGHT_PX = 420
# Arms lie close where they are about as fast: the words at their points go apart.
CORNERS = ("top left", "bottom right", "top right", "bottom left")


def frontier_chart(found: Sequence[Plot], arms: Mapping[str, str], colors: Colors) -> None:
    """One chart, chosen by its name; a sentence where there is nothing to draw."""
    if not found:
        st.caption("No two viewpoints have values of two arms: there is no chart of one against the other.")
        return
    chosen = st.selectbox("Draw", range(len(found)), format_func=lambda place: found[place].title, key="frontier")
    plot = found[chosen]
    charts.still_chart(_figure(plot, arms, colors), plot.title, "frontier-chart")
    st.caption(ABOUT)


def _figure(plot: Plot, arms: Mapping[str, str], colors: Colors) -> go.Figure:
    on, figure = charts.DRAWN_ON, go.Figure()
    line = {"color": MUTED[on], "width": 1, "dash": "dot"}
    xs, ys = [one.x for one in plot.best], [one.y for one in plot.best]
    figure.add_scatter(x=xs, y=ys, mode="lines", line=line, hoverinfo="skip", showlegend=False)
    for number, (arm_id, name) in enumerate(arms.items()):
        mine = [one for one in plot.points if one.arm_id == arm_id]
        figure.add_scatter(
            x=[one.x for one in mine], y=[one.y for one in mine], mode="markers+text",
            name=charts.plain(name), text=[_at_point(one) for one in mine], cliponaxis=False,
            textposition=CORNERS[number % len(CORNERS)], hovertext=[charts.plain(one.note) for one in mine],
            error_x=_bars([one.x_interval for one in mine], mine, "x"),
            error_y=_bars([one.y_interval for one in mine], mine, "y"),
            marker={
                "color": run_color(colors[arm_id], on), "size": 10,
                "symbol": ["circle" if one.is_comparable else "circle-open" for one in mine],
                "line": {"color": run_color(colors[arm_id], on), "width": 2},
            },
        )  # fmt: skip
    charts.styled(figure, {"title": {"text": axis_words(plot.x)}}, legend=True)
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    figure.update_layout(height=HEIGHT_PX, legend=legend, yaxis={"title": {"text": axis_words(plot.y)}})
    figure.update_xaxes(linecolor=EXCLUDED[on])
    return figure


def _at_point(point: Point) -> str:
    """As short as it can be: the number of requests at once."""
    return charts.plain(point.note.replace(" at once", ""))


def _bars(intervals: Sequence[tuple[float, float] | None], points: Sequence[Point], axis: str) -> dict[str, Any]:
    """Up and down from each point; nothing where its spread is not known."""
    at = [getattr(one, axis) for one in points]
    pairs = list(zip(intervals, at, strict=True))
    up = [interval[1] - value if interval else 0.0 for interval, value in pairs]
    down = [value - interval[0] if interval else 0.0 for interval, value in pairs]
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "thickness": 1}
