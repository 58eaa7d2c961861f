"""The charts of a load's results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import plotly.graph_objects as go
import streamlit as st

from analysis.evidence.loads import LoadRecord, is_whole
from analysis.evidence.measure import per_token_ms
from analysis.loads.load_results import STATISTICS
from load_records import RequestRecord, Result
from web.charts import DRAWN_GROUND, still_chart, styled
from web.theme import run_color, run_dash

SLICE_PX = 240
MIN_REQUESTS = 5  # requests for a distribution
MAPS = (("decode_tps", "Decode speed, tok/s"), ("prompt_tps", "Prefill speed, tok/s"), ("ttft_ms", "TTFT, ms"))
AXES = {"prompt_tokens": "prompt tokens", "depth_tokens": "depth, tokens", "output_tokens": "output tokens",
        "concurrency": "concurrency"}  # fmt: skip


class Curve(NamedTuple):
    """One line of a distribution: `xs` in ms, ascending; `ys` the share (0 to 1) of requests that took at most that."""

    name: str
    xs: list[float]
    ys: list[float]


def show_grid_map(rows: Sequence[Result], key: str) -> None:
    """Show heat maps over the first two axes that vary, for a chosen value of each further one; none for fewer axes."""
    means = [row for row in rows if row.statistic == "mean" and row.prompt_tokens is not None]
    varied = [axis for axis in AXES if len({getattr(row, axis) for row in means} - {None}) > 1]
    if len(varied) < 2:
        return
    x, y = varied[:2]
    means = [row for row in means if getattr(row, x) is not None and getattr(row, y) is not None]
    means = _choose_slice(means, varied[2:], key)
    columns = st.columns(len(MAPS))
    for column, (metric, title) in zip(columns, MAPS, strict=True):
        values = {(getattr(row, x), getattr(row, y)): row.value for row in means if row.metric == metric}
        if values:
            with column:
                description = f"{title} by {AXES[x]} and {AXES[y]}"
                still_chart(_heat(values, x, y), title, f"grid-{key}-{metric}", description)


def _choose_slice(rows: Sequence[Result], axes: Sequence[str], key: str) -> list[Result]:
    """Let the viewer choose a value of each of these axes, and return the rows with it; the choices name the slice."""
    chosen_rows = list(rows)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for axis in axes:
            values = sorted({getattr(row, axis) for row in chosen_rows if getattr(row, axis) is not None})
            title = f"The maps are for {AXES[axis]}"
            value = st.selectbox(title, values, format_func="{:,}".format, key=f"slice-{key}-{axis}", width=SLICE_PX)
            chosen_rows = [row for row in chosen_rows if getattr(row, axis) == value]
    return chosen_rows


def _heat(values: dict[tuple[int, int], float | None], x: str, y: str) -> go.Figure:
    xs, ys = (sorted({key[index] for key in values}) for index in (0, 1))
    cells = [[values.get((at_x, at_y)) for at_x in xs] for at_y in ys]
    labels = [["" if value is None else f"{value:.4g}" for value in row] for row in cells]
    figure = go.Figure(
        go.Heatmap(
            z=cells,
            x=[f"{tick:,}" for tick in xs],
            y=[f"{tick:,}" for tick in ys],
            text=labels,
            texttemplate="%{text}",
            showscale=False,
            colorscale="Cividis",
            hovertemplate=f"{AXES[x]} %{{x}}, {AXES[y]} %{{y}}: %{{z:.4g}}<extra></extra>",
        )
    )
    styled(figure, {"title": {"text": AXES[x]}, "type": "category"}, legend=False)
    figure.update_yaxes(title={"text": AXES[y]}, type="category")
    return figure


def show_latency_against_throughput(rows: Sequence[Result], key: str) -> None:
    """Show latency against throughput by concurrency; none if fewer than two concurrencies were measured."""
    by_users = output_by_concurrency(rows)
    if len(by_users) < 2:
        return
    for column, metric, title in zip(st.columns(2), ("ttft_ms", "tpot_ms"), ("TTFT", "TPOT"), strict=True):
        figure = go.Figure()
        for index, statistic in enumerate(("median", "p95")):
            by_load = {row.concurrency: row.value for row in rows if (row.metric, row.statistic) == (metric, statistic)}
            users = [count for count in sorted(filter(None, by_users)) if by_load.get(count) is not None]
            color = run_color(index, DRAWN_GROUND)
            if users:
                figure.add_scatter(
                    x=[by_users[n] for n in users], y=[by_load[n] for n in users], mode="lines+markers+text",
                    text=[f"{n}" for n in users], textposition="top center",
                    name="p50" if statistic == "median" else statistic, line={"color": color}, marker={"color": color},
                    hovertemplate="%{text} concurrent: %{x:.0f} tok/s, %{y:.0f} ms<extra></extra>",
                )  # fmt: skip
        styled(figure, {"title": {"text": "output tok/s"}}, legend=True)
        if figure.data:
            with column:
                still_chart(figure, f"{title} against output tok/s, ms", f"knee-{key}-{metric}")


def output_by_concurrency(rows: Sequence[Result]) -> dict[int | None, float]:
    """Return output tok/s by concurrency, by the statistic that the table shows; never a percentile or a maximum."""
    outputs: dict[int | None, float] = {}
    for statistic in reversed(STATISTICS):
        outputs |= {
            row.concurrency: row.value
            for row in rows
            if (row.metric, row.statistic) == ("output_tps", statistic) and row.value is not None
        }
    return outputs


def show_distributions(load: LoadRecord) -> None:
    """Show the distributions of TTFT, TPOT and E2E latency, one line per concurrency."""
    complete = [request for request in load.measured if is_whole(request)]
    figures = {
        "TTFT, ms": _curves(complete, lambda request: request.ttft_ms),
        "TPOT, ms": _curves(complete, per_token_ms),
        "E2E, ms": _curves(complete, lambda request: request.total_ms),
    }
    if not any(figures.values()):
        return
    for column, (title, curves) in zip(st.columns(len(figures)), figures.items(), strict=True):
        if curves:
            figure = go.Figure()
            for index, curve in enumerate(curves):
                color = run_color(index, DRAWN_GROUND)
                figure.add_scatter(
                    x=curve.xs, y=curve.ys, mode="lines", name=curve.name,
                    line={"color": color, "dash": run_dash(index)},
                    hovertemplate="%{y:.0%} within %{x:.4g} ms<extra>" + curve.name + "</extra>",
                )  # fmt: skip
            styled(figure, {"title": {"text": "ms"}}, legend=len(curves) > 1)
            figure.update_yaxes(tickformat=".0%", range=[0, 1.02])
            with column:
                still_chart(figure, f"Share of requests within {title}", f"spread-{load.load_id}-{title}")


def _curves(requests: Sequence[RequestRecord], value: Callable[[RequestRecord], float | None]) -> list[Curve]:
    groups: dict[int, list[float]] = {}
    for request in requests:
        if (measured := value(request)) is not None:
            groups.setdefault(request.concurrency, []).append(measured)
    curves = []
    for users, values in sorted(groups.items()):
        if len(values) >= MIN_REQUESTS:
            name = "as they arrive" if users == 0 else f"{users} concurrent"
            curves.append(Curve(name, sorted(values), [(n + 1) / len(values) for n in range(len(values))]))
    return curves
