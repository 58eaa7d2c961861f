"""The look of the charts that have no time axis, drawn by Streamlit with Plotly's own toolbar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from web.theme import GRID, MUTED, TEXT, Ground

PLOT_CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "showSendToCloud": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d"],
}
# Of a phone: a finger scrolls the page, and the few buttons leave the title room.
PHONE_CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "displayModeBar": True,
    "modeBarButtons": [["zoomIn2d", "zoomOut2d", "resetScale2d"]],
}
HEIGHT_PX = 280


def ground() -> Ground:
    """The ground the browser shows this page on."""
    return "dark" if st.context.theme.type == "dark" else "light"


def is_phone() -> bool:
    """Whether the browser says that it is one."""
    return "Mobi" in (st.context.headers.get("User-Agent") or "")


def plot_config() -> dict[str, Any]:
    """What Plotly's own toolbar of a still chart offers."""
    return PHONE_CONFIG if is_phone() else PLOT_CONFIG


def styled(figure: go.Figure, title: str, on: Ground, x: Mapping[str, object], legend: bool) -> go.Figure:
    """The look of all still charts; `x` is what Plotly is told of the horizontal axis."""
    axis = {"gridcolor": GRID[on], "zeroline": False, "color": MUTED[on]}
    figure.update_layout(
        title={"text": title, "font": {"size": 14, "color": TEXT[on]}, "x": 0, "xanchor": "left"},
        height=HEIGHT_PX,
        margin={"l": 44, "r": 12, "t": 36, "b": 40},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": MUTED[on]},
        xaxis={**axis, **x},
        yaxis={**axis, "rangemode": "tozero"},
        showlegend=legend,
        hovermode="closest",
        dragmode=False if is_phone() else "zoom",
        uirevision=title,
    )
    return figure


def plain(name: str) -> str:
    """Plotly reads a little markup in texts: a run's name has none."""
    return name.replace("&", "&amp;").replace("<", "&lt;")
