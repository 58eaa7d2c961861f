"""The charts of the still pages: one axis for all runs, direct labels, grey for what is excluded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import plotly.graph_objects as go
import streamlit as st

from analysis.windows import Window
from web.facts import Facts
from web.theme import EXCLUDED, GRID, MUTED, TEXT, Ground, run_color

PLOT_CONFIG = {"displaylogo": False, "showSendToCloud": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]}
HEIGHT_PX = 300
PLOT_PX = HEIGHT_PX - 76
LABEL_PX = 15
MOST_LABELLED = 6


class End(NamedTuple):
    """Where a line ends, and whose it is."""

    x: float
    y: float
    name: str
    color: str


def ground() -> Ground:
    """The ground the browser shows this page on."""
    return "dark" if st.context.theme.type == "dark" else "light"


def over_time(facts: Sequence[Facts]) -> list[tuple[str, go.Figure]]:
    """The small multiples of Compare, each with the question it answers."""
    wanted: list[tuple[str, Callable[[Window], float | None]]] = [
        ("Decode speed, tok/s (all streams)", lambda w: w.decode_tps),
        ("Tokens per step", lambda w: w.tokens_per_step),
        ("Steps per second", lambda w: w.steps_per_s),
    ]
    return [
        (title, _lines(title, facts, value)) for title, value in wanted
        if any(value(w) is not None for one in facts for w in one.windows)
    ]  # fmt: skip


def _lines(title: str, facts: Sequence[Facts], value: Callable[[Window], float | None]) -> go.Figure:
    on = ground()
    figure = go.Figure()
    ends: list[End] = []
    for one in facts:
        xs = [w.since_ready_s for w in one.windows]
        ys = [value(w) for w in one.windows]
        figure.add_scatter(x=xs, y=ys, mode="lines", line={"color": EXCLUDED[on], "width": 1}, hoverinfo="skip")
        ys = [y if w.activity == "active" else None for w, y in zip(one.windows, ys, strict=True)]
        color = run_color(one.run.color, on)
        figure.add_scatter(
            x=xs, y=ys, mode="lines+markers", name=one.run.name, connectgaps=False,
            line={"color": color, "width": 2}, marker={"color": color, "size": 4},
            hovertemplate="%{y:.3g} at %{x:.0f} s<extra>" + plain(one.run.name) + "</extra>",
        )  # fmt: skip
        ends += [End(x, y, one.run.name, color) for x, y in zip(xs, ys, strict=True) if y is not None][-1:]
    if len(facts) <= MOST_LABELLED:
        _label_ends(figure, ends)
    last = max((w.since_ready_s for one in facts for w in one.windows), default=1.0)
    x = {"title": {"text": "seconds since ready"}, "range": [0, last * 1.01]}
    return styled(figure, title, on, x, legend=len(facts) > MOST_LABELLED)


def _label_ends(figure: go.Figure, ends: Sequence[End]) -> None:
    """Names at the lines' ends, moved apart where they would lie on each other."""
    span = max((end.y for end in ends), default=1.0) or 1.0
    below = float("-inf")
    for end in sorted(ends, key=lambda one: one.y):
        height_px = max(end.y / span * PLOT_PX, below + LABEL_PX)
        below = height_px
        figure.add_annotation(
            x=end.x, y=end.y, text=plain(end.name), showarrow=False, xanchor="left", xshift=6,
            yshift=height_px - end.y / span * PLOT_PX, font={"color": end.color, "size": 12},
        )  # fmt: skip


def styled(figure: go.Figure, title: str, on: Ground, x: Mapping[str, object], legend: bool) -> go.Figure:
    """The look of all still charts; `x` is what Plotly is told of the horizontal axis."""
    axis = {"gridcolor": GRID[on], "zeroline": False, "color": MUTED[on]}
    figure.update_layout(
        title={"text": title, "font": {"size": 14, "color": TEXT[on]}, "x": 0, "xanchor": "left"},
        height=HEIGHT_PX,
        margin={"l": 50, "r": 130, "t": 40, "b": 36},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": MUTED[on]},
        xaxis={**axis, **x},
        yaxis={**axis, "rangemode": "tozero"},
        showlegend=legend,
        hovermode="closest",
        uirevision=title,
    )
    return figure


def plain(name: str) -> str:
    """Plotly reads a little markup in texts: a run's name has none."""
    return name.replace("&", "&amp;").replace("<", "&lt;")
