"""The charts of the still pages: one axis for all runs, grey for what is excluded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from analysis.comparison.arms import NUMBERED
from analysis.runs.windows import Window
from reports.runs.run_report import RunReport
from web import markup
from web.theme import EXCLUDED, GRID, MUTED, TEXT, Ground, run_color

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
QUESTIONS: Mapping[str, Callable[[Window], float | None]] = {
    "Decode speed, tok/s of all streams": lambda w: w.decode_tps,
    "Tokens per step": lambda w: w.tokens_per_step,
    "Steps per second": lambda w: w.steps_per_s,
}


def ground() -> Ground:
    """The ground the browser shows this page on."""
    return "dark" if st.context.theme.type == "dark" else "light"


def is_phone() -> bool:
    """Whether the browser says that it is one."""
    return "Mobi" in (st.context.headers.get("User-Agent") or "")


def plot_config() -> dict[str, Any]:
    """What Plotly's own toolbar of a still chart offers."""
    return PHONE_CONFIG if is_phone() else PLOT_CONFIG


def over_time(reports: Sequence[RunReport]) -> None:
    """The small multiples: the speed above its two factors, one legend for all."""
    if not any(w.activity == "active" for one in reports for w in one.windows):
        st.caption("No window holds decoding alone (the run was too short, or its log has none): there is no course.")
        return
    st.html(_legend(reports))
    for place, (title, value) in zip([st.container(), *st.columns(2)], QUESTIONS.items(), strict=True):
        if any(value(w) is not None for one in reports for w in one.windows):
            place.plotly_chart(_lines(title, reports, value), key=title, theme=None, config=plot_config(), alt=title)


def _legend(reports: Sequence[RunReport]) -> str:
    """Whose line is which, and what grey means."""
    by_color = {one.run.color: NUMBERED.sub("", one.run.name) for one in reversed(reports)} if len(reports) > 1 else {}
    names = "".join(f"<span>{markup.named(by_color[color], color)}</span>" for color in reversed(by_color))
    return f'<p class="pw-legend">{names}<span class="pw-muted">grey: idle, mixed or warm-up, not ranked</span></p>'


def _lines(title: str, reports: Sequence[RunReport], value: Callable[[Window], float | None]) -> go.Figure:
    on = ground()
    figure = go.Figure()
    for one in reports:
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
    last = max((w.since_ready_s for one in reports for w in one.windows), default=1.0)
    x = {"title": {"text": "seconds since ready"}, "range": [0, last * 1.01]}
    return styled(figure, title, on, x, legend=False)


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
