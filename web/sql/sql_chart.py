"""A query's rows as a chart: one column on the x axis, numeric columns on the y axis, colours by a third."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
import pyarrow as pa
import streamlit as st

from web.charts import DRAWN_GROUND, plain, still_chart, styled
from web.sql.display_options import saved_choice, saved_choices
from web.theme import run_color, run_dash
from web.url_state import choose_one, choose_segment, choose_some, single_choice

MOST_POINTS = 5_000  # as many as a browser draws without a pause
MOST_LINES = 8  # as many as there are colours
MODES = {"line": "lines+markers", "point": "markers"}


TABLE = "table"
KINDS = {TABLE: "Table", "line": "Lines", "bar": "Bars", "point": "Points"}
WIDTH_PX = 200


def choose_kind() -> str:
    """Show the choice between table and charts, kept in the address, and return it."""
    choice = single_choice("draw", "sql-draw", list(KINDS), saved_choice("draw", KINDS, TABLE))
    return choose_segment("Show as", choice, KINDS)


def show_chart(table: pa.Table, kind: str) -> None:
    """Show the chart and the choice of its columns, kept in the address, or the reason why there is no chart."""
    numbers = [field.name for field in table.schema if _is_number(field.type)]
    if not numbers or not table.num_rows:
        st.info("A chart needs rows and a column of numbers.")
        return
    x_name, y_names, color_name = _choices(table, numbers)
    if not y_names:
        st.info("Choose at least one column of numbers.")
        return
    plotted = table.slice(0, MOST_POINTS)
    lines = _lines(plotted, x_name, y_names, color_name)
    figure = _figure(lines[:MOST_LINES], table.schema.field(x_name), kind)
    still_chart(figure, f"{', '.join(y_names)} over {x_name}", "sql-chart")
    left_out = [f"the first {MOST_POINTS:,} rows"] if table.num_rows > MOST_POINTS else []
    left_out += [f"the first {MOST_LINES} of {len(lines)} lines"] if len(lines) > MOST_LINES else []
    if left_out:
        st.caption(f"Drawn: only {' and '.join(left_out)}.")
    if unknown := sum(x is None or y is None for _, xs, ys in lines for x, y in zip(xs, ys, strict=True)):
        st.caption(f"Not drawn: {unknown:,} points with a null value.")


def _choices(table: pa.Table, numbers: Sequence[str]) -> tuple[str, list[str], str | None]:
    names = table.column_names
    times = [field.name for field in table.schema if pa.types.is_temporal(field.type)]
    texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
    counted = numbers[:1] if len(numbers) > 1 else []
    first = saved_choice("x", names, [*times, *counted, *texts, *numbers][0])
    with st.container(horizontal=True):
        x_name = choose_one("X axis", "x", "sql", {column: column for column in names}, first, WIDTH_PX)
        y_options = [name for name in numbers if name != x_name]
        heights = saved_choices("y", y_options, y_options[:1])
        y_names = choose_some(
            "Y axis", "y", "sql", {column: column for column in y_options}, "columns", heights, WIDTH_PX
        )
        groups = [name for name in names if name not in (x_name, *y_names) and name in (*texts, *numbers)]
        few = [name for name in groups if name in texts and len(table[name].unique()) <= MOST_LINES]
        colors = {"": "one"} | {column: column for column in groups}
        color_name = choose_one(
            "Colour", "color", "sql", colors, saved_choice("color", colors, next(iter(few), "")), WIDTH_PX
        )
    return x_name, y_names, color_name or None


def _lines(
    table: pa.Table, x_name: str, y_names: Sequence[str], color_name: str | None
) -> list[tuple[str, list[object], list[object]]]:
    """Return the name, xs and ys of each line, in the order of the rows."""
    xs = [_plottable(value) for value in table[x_name]]
    groups = table[color_name].to_pylist() if color_name else [None] * len(xs)
    lines: dict[str, tuple[list[object], list[object]]] = {}
    for y_name in y_names:
        for x, y, group in zip(xs, table[y_name].to_pylist(), groups, strict=True):
            parts = [str(group)] if color_name else []
            name = " · ".join(parts + ([y_name] if len(y_names) > 1 or not color_name else []))
            line = lines.setdefault(name, ([], []))
            line[0].append(x)
            line[1].append(None if y is None else float(y))
    return [(name, *line) for name, line in lines.items()]


def _plottable(value: pa.Scalar) -> object:
    """Return the value as Plotly takes it; None for a time out of range, such as infinity."""
    try:
        python_value = value.as_py()
    except (OverflowError, ValueError):
        return None
    return python_value.hex() if isinstance(python_value, bytes) else python_value


def _figure(lines: Sequence[tuple[str, list[object], list[object]]], x_field: pa.Field, kind: str) -> go.Figure:
    figure = go.Figure()
    for number, (name, xs, ys) in enumerate(lines):
        color = run_color(number, DRAWN_GROUND)
        if kind == "bar":
            figure.add_bar(x=xs, y=ys, name=plain(name), marker={"color": color})
        else:
            style = {
                "mode": MODES[kind],
                "line": {"color": color, "dash": run_dash(number), "width": 2},
                "marker": {"color": color},
            }
            figure.add_scatter(x=xs, y=ys, name=plain(name), **style)
    return styled(figure, {"title": {"text": plain(x_field.name)}}, legend=len(lines) > 1)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
