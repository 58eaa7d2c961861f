"""The charts of a load's results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import plotly.graph_objects as go
import streamlit as st

from analysis.evidence.loads import LoadRecord, is_whole
from analysis.evidence.measure import per_token_ms
from load_records import RequestRecord, Result
from web.charts import DRAWN_ON, still_chart, styled
from web.theme import run_color

FEWEST = 5  # requests of a distribution
MAPS = (("decode_tps", "Decode tok/s"), ("prompt_tps", "Prompt tok/s"), ("ttft_ms", "TTFT, ms"))
AXES = {"prompt_tokens": "prompt tokens", "depth_tokens": "depth, tokens", "output_tokens": "output tokens",
        "concurrency": "at once"}  # fmt: skip


class Curve(NamedTuple):
    """One line of a distribution: `xs` in ms, rising, `ys` the share (0 to 1) of requests that took at most so long."""

    name: str
    xs: list[float]
    ys: list[float]


def grid_map(rows: Sequence[Result], key: str) -> None:
    """Heat maps over the two axes that vary; none where fewer do."""
    means = [one for one in rows if one.statistic == "mean" and one.prompt_tokens is not None]
    varied = [axis for axis in AXES if len({getattr(one, axis) for one in means}) > 1]
    if len(varied) < 2:
        return
    x, y = varied[:2]
    places = st.columns(len(MAPS))
    for place, (metric, title) in zip(places, MAPS, strict=True):
        values = {(getattr(one, x), getattr(one, y)): one.value for one in means if one.metric == metric}
        if values:
            with place:
                about = f"{title} by {AXES[x]} and {AXES[y]}"
                still_chart(_heat(values, x, y), title, f"grid-{key}-{metric}", about)


def _heat(values: dict[tuple[int, int], float | None], x: str, y: str) -> go.Figure:
    xs, ys = (sorted({key[place] for key in values}) for place in (0, 1))
    cells = [[values.get((at_x, at_y)) for at_x in xs] for at_y in ys]
    words = [["" if value is None else f"{value:.4g}" for value in row] for row in cells]
    figure = go.Figure(
        go.Heatmap(
            z=cells,
            x=[f"{one:,}" for one in xs],
            y=[f"{one:,}" for one in ys],
            text=words,
            texttemplate="%{text}",
            showscale=False,
            colorscale="Cividis",
            hovertemplate=f"{AXES[x]} %{{x}}, {AXES[y]} %{{y}}: %{{z:.4g}}<extra></extra>",
        )
    )
    styled(figure, {"title": {"text": AXES[x]}, "type": "category"}, legend=False)
    figure.update_yaxes(title={"text": AXES[y]}, type="category")
    return figure


def latency_against_throughput(rows: Sequence[Result], key: str) -> None:
    """What each further user costs the others; none where fewer than two concurrencies were measured."""
    by_users = {one.concurrency: one.value for one in rows if one.metric == "output_tps" and one.value is not None}
    if len(by_users) < 2:
        return
    for place, metric, title in zip(st.columns(2), ("ttft_ms", "tpot_ms"), ("TTFT", "TPOT"), strict=True):
        figure = go.Figure()
        for index, statistic in enumerate(("median", "p95")):
            by_load = {one.concurrency: one.value for one in rows if (one.metric, one.statistic) == (metric, statistic)}
            users = [one for one in sorted(filter(None, by_users)) if by_load.get(one) is not None]
            color = run_color(index, DRAWN_ON)
            if users:
                figure.add_scatter(
                    x=[by_users[one] for one in users], y=[by_load[one] for one in users], mode="lines+markers+text",
                    text=[f"{one}" for one in users], textposition="top center",
                    name="p50" if statistic == "median" else statistic, line={"color": color}, marker={"color": color},
                    hovertemplate="%{text} at once: %{x:.0f} tok/s, %{y:.0f} ms<extra></extra>",
                )  # fmt: skip
        styled(figure, {"title": {"text": "output tok/s"}}, legend=True)
        if figure.data:
            with place:
                still_chart(figure, f"{title} against output tok/s, ms", f"knee-{key}-{metric}")


def distributions(load: LoadRecord) -> None:
    """Share of requests that took at most so long, a line for each concurrency."""
    whole = [request for request in load.measured if is_whole(request)]
    figures = {
        "TTFT, ms": _curves(whole, lambda request: request.ttft_ms),
        "TPOT, ms": _curves(whole, per_token_ms),
        "E2E, ms": _curves(whole, lambda request: request.total_ms),
    }
    if not any(figures.values()):
        return
    for place, (title, curves) in zip(st.columns(len(figures)), figures.items(), strict=True):
        if curves:
            figure = go.Figure()
            for index, curve in enumerate(curves):
                figure.add_scatter(
                    x=curve.xs, y=curve.ys, mode="lines", name=curve.name, line={"color": run_color(index, DRAWN_ON)},
                    hovertemplate="%{y:.0%} within %{x:.4g} ms<extra>" + curve.name + "</extra>",
                )  # fmt: skip
            styled(figure, {"title": {"text": "ms"}}, legend=len(curves) > 1)
            figure.update_yaxes(tickformat=".0%", range=[0, 1.02])
            with place:
                still_chart(figure, f"Share of requests within {title}", f"spread-{load.load_id}-{title}")


def _curves(requests: Sequence[RequestRecord], value: Callable[[RequestRecord], float | None]) -> list[Curve]:
    groups: dict[int, list[float]] = {}
    for request in requests:
        if (found := value(request)) is not None:
            groups.setdefault(request.concurrency, []).append(found)
    curves = []
    for users, values in sorted(groups.items()):
        if len(values) >= FEWEST:
            name = "as they arrive" if users == 0 else f"{users} at once"
            curves.append(Curve(name, sorted(values), [(n + 1) / len(values) for n in range(len(values))]))
    return curves
