"""A query's rows as a chart: one column across, the numbers of others above it, a line for each value of a third."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
import pyarrow as pa
import streamlit as st

from web.charts import PLOT_CONFIG, ground, plain, styled
from web.theme import run_color

MOST_POINTS = 5_000  # what a browser draws at once without a pause
MOST_LINES = 8  # as many as there are colours


def chart(table: pa.Table) -> None:
    """The chart and the choice of its columns; says why there is none."""
    numbers = [field.name for field in table.schema if _is_number(field.type)]
    if not numbers or not table.num_rows:
        st.info("A chart needs rows and a column of numbers.")
        return
    across, above, split = _choices(table, numbers)
    if not above:
        st.info("Choose at least one column of numbers.")
        return
    shown = table.slice(0, MOST_POINTS)
    lines = _lines(shown, across, above, split)
    st.plotly_chart(_figure(lines[:MOST_LINES], table.schema.field(across)), theme=None, config=PLOT_CONFIG)
    left_out = [f"the first {MOST_POINTS:,} rows"] if table.num_rows > MOST_POINTS else []
    left_out += [f"the first {MOST_LINES} of {len(lines)} lines"] if len(lines) > MOST_LINES else []
    if left_out:
        st.caption(f"Drawn: {' and '.join(left_out)}.")


def _choices(table: pa.Table, numbers: Sequence[str]) -> tuple[str, list[str], str | None]:
    names = table.column_names
    times = [field.name for field in table.schema if pa.types.is_temporal(field.type)]
    texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
    counted = numbers[:1] if len(numbers) > 1 else []
    likely = [*times, *counted, *texts, *numbers][0]
    left, middle, right = st.columns(3)
    across = left.selectbox("Across", names, index=names.index(likely))
    rest = [name for name in numbers if name != across]
    above = middle.multiselect("Above", rest, default=rest[:1])
    groups = [name for name in texts if name != across]
    few = [number for number, name in enumerate(groups) if len(table[name].unique()) <= MOST_LINES]
    split = right.selectbox("A line for each", groups, index=next(iter(few), None))
    return across, above, split


def _lines(
    table: pa.Table, across: str, above: Sequence[str], split: str | None
) -> list[tuple[str, list[object], list[object]]]:
    """Name, xs and ys of each line, in the order of the rows."""
    xs = table[across].to_pylist()
    groups = table[split].to_pylist() if split else [None] * len(xs)
    lines: dict[str, tuple[list[object], list[object]]] = {}
    for column in above:
        for x, y, group in zip(xs, table[column].to_pylist(), groups, strict=True):
            words = [str(group)] if split else []
            name = " · ".join(words + ([column] if len(above) > 1 or not split else []))
            line = lines.setdefault(name, ([], []))
            line[0].append(x)
            line[1].append(None if y is None else float(y))
    return [(name, *line) for name, line in lines.items()]


def _figure(lines: Sequence[tuple[str, list[object], list[object]]], across: pa.Field) -> go.Figure:
    on, figure = ground(), go.Figure()
    for number, (name, xs, ys) in enumerate(lines):
        color = run_color(number, on)
        if pa.types.is_string(across.type):
            figure.add_bar(x=xs, y=ys, name=plain(name), marker={"color": color})
        else:
            figure.add_scatter(x=xs, y=ys, name=plain(name), mode="lines+markers", line={"color": color, "width": 2})
    title = lines[0][0] if len(lines) == 1 else ""
    return styled(figure, plain(title), on, {"title": {"text": plain(across.name)}}, legend=len(lines) > 1)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
