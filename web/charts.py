"""The charts that have no time axis, a Streamlit component of web/static/still."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from zlib import crc32

import plotly.graph_objects as go
import streamlit as st

from web.server.assets import STATIC, assets_url
from web.theme import DOUBT, EXCLUDED, FAILURE, GRID, MUTED, RUN_COLORS, TEXT, Ground

DRAWN_ON: Ground = "light"  # figures come in its colours; the browser puts in those of the ground that it shows
HEIGHT_PX = 280
OF_BASIC = {"scatter", "bar"}  # what the smallest bundle of plotly.js draws
PALETTE = {
    "runs": RUN_COLORS,
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
    """The ground the browser shows this page on."""
    return "dark" if st.context.theme.type == "dark" else "light"


def is_phone() -> bool:
    """Whether the browser says that it is one."""
    return "Mobi" in (st.context.headers.get("User-Agent") or "")


def styled(figure: go.Figure, x: Mapping[str, object], legend: bool) -> go.Figure:
    """The look of all still charts; `x` is what Plotly gets for the horizontal axis."""
    axis = {"gridcolor": GRID[DRAWN_ON], "zeroline": False, "color": MUTED[DRAWN_ON], "automargin": True}
    figure.update_layout(
        template="none",
        height=HEIGHT_PX,
        margin={"l": 44, "r": 12, "t": 12, "b": 40},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": MUTED[DRAWN_ON], "size": 12},
        xaxis={**axis, **x},
        yaxis={**axis, "rangemode": "tozero"},
        showlegend=legend,
        hovermode="closest",
        hoverlabel={"align": "left"},
    )
    return figure


def still_chart(figure: go.Figure, title: str, key: str, about: str = "", opens: bool = False) -> list[str]:
    """Show the chart; where its points open something, what the one pressed just now says of itself.

    `about` is its accessible name, the title where none is given. A figure with maps or boxes loads a fuller plotly.js.
    """
    base = st.get_option("server.baseUrlPath").strip("/")
    drawn = json.loads(figure.update_layout(uirevision=title).to_json())
    drawn["layout"].pop("template", None)
    answered = _component(
        key=key,
        data={
            "assets": assets_url(f"/{base}" if base else ""),
            "module": "still/still.js",
            "name": f"{key}-{crc32(title.encode()):08x}",  # what is zoomed into is of these axes alone
            "title": title,
            "about": about or title,
            "file": "pitwall-" + re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-"),
            "figure": drawn,
            "bundle": "basic" if {one["type"] for one in drawn["data"]} <= OF_BASIC else "cartesian",
            "opens": opens,
            "palette": PALETTE,
        },
        on_pressed_change=lambda: None,  # without it nothing is reported
    )
    return [str(one) for one in getattr(answered, "pressed", None) or ()]


def plain(name: str) -> str:
    """Plotly reads a little markup in texts: a run's name has none."""
    return name.replace("&", "&amp;").replace("<", "&lt;")
