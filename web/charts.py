"""Charts without a live time axis, drawn by the Streamlit component of web/static/still."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from zlib import crc32

import plotly.graph_objects as go
import streamlit as st

from web.assets import STATIC, assets_url
from web.theme import DOUBT, EXCLUDED, FAILURE, GRID, HUE_DASHES, MUTED, RUN_COLORS, TEXT, Ground

DRAWN_GROUND: Ground = "light"  # figures use its colours; the browser replaces them by those of its theme
HEIGHT_PX = 280
BASIC_TRACE_TYPES = {"scatter", "bar"}  # those of the smallest plotly.js bundle
PALETTE = {
    "runs": RUN_COLORS,
    "dashes": {"light": HUE_DASHES, "dark": HUE_DASHES},
    "text": TEXT,
    "muted": MUTED,
    "grid": GRID,
    "excluded": EXCLUDED,
    "doubt": DOUBT,
    "failure": FAILURE,
}
_component = st.components.v2.component(
    "pitwall_still_chart",
    css=(STATIC / "live" / "live.css").read_text(),
    js=(STATIC / "component_loader.js").read_text(),
    isolate_styles=False,
)


def ground() -> Ground:
    """The theme of the viewer's browser."""
    return "dark" if st.context.theme.type == "dark" else "light"


def is_phone() -> bool:
    """Whether the browser identifies itself as a phone."""
    return "Mobi" in (st.context.headers.get("User-Agent") or "")


def styled(figure: go.Figure, x: Mapping[str, object], legend: bool) -> go.Figure:
    """Apply the common layout of still charts; `x` are Plotly's options of the horizontal axis."""
    axis = {"gridcolor": GRID[DRAWN_GROUND], "zeroline": False, "color": MUTED[DRAWN_GROUND], "automargin": True}
    figure.update_layout(
        template="none",
        height=HEIGHT_PX,
        margin={"l": 44, "r": 12, "t": 12, "b": 40},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": MUTED[DRAWN_GROUND], "size": 12},
        xaxis={**axis, **x},
        yaxis={**axis, "rangemode": "tozero"},
        showlegend=legend,
        hovermode="closest",
        hoverlabel={"align": "left"},
    )
    return figure


def still_chart(figure: go.Figure, title: str, key: str, accessible_name: str = "", opens: bool = False) -> list[str]:
    """Show the chart; if `opens`, return the custom data of the point that was just pressed.

    accessible_name: defaults to the title. A figure with heat maps or boxes loads a larger plotly.js bundle.
    """
    base = st.get_option("server.baseUrlPath").strip("/")
    figure_json = json.loads(figure.update_layout(uirevision=title).to_json())
    figure_json["layout"].pop("template", None)
    state = _component(
        key=key,
        data={
            "assets": assets_url(f"/{base}" if base else ""),
            "module": "still/still.js",
            "name": f"{key}-{crc32(title.encode()):08x}",  # a zoom is kept only for the same axes
            "title": title,
            "about": accessible_name or title,
            "file": "pitwall-" + re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-"),
            "figure": figure_json,
            "bundle": "basic" if {trace["type"] for trace in figure_json["data"]} <= BASIC_TRACE_TYPES else "cartesian",
            "opens": opens,
            "palette": PALETTE,
        },
        on_pressed_change=lambda: None,  # without a callback the value is not reported
    )
    return [str(point) for point in getattr(state, "pressed", None) or ()]


def plain(name: str) -> str:
    """Escape a text for Plotly, which reads a little markup."""
    return name.replace("&", "&amp;").replace("<", "&lt;")
