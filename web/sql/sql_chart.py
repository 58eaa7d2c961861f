"""A query's rows as a chart: one column across, the numbers of others above it, a line for each value of a third."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
import pyarrow as pa
import streamlit as st

from web.charts import DRAWN_ON, plain, still_chart, styled
from web.kept import choose_one, choose_segment, choose_some, kept_one
from web.sql.shown import saved_one, saved_some
from web.theme import run_color

MOST_POINTS = 5_000  # what a browser draws at once without a pause
MOST_LINES = 8  # as many as there are colours
MODES = {"line": "lines+markers", "point": "markers"}


TABLE = "table"
KINDS = {TABLE: "Table", "line": "Lines", "bar": "Bars", "point": "Points"}
WIDTH_PX = 200


def choose_kind() -> str:
    """How the rows are shown; the address keeps it."""
    kept = kept_one("draw", "sql-draw", list(KINDS), saved_one("draw", KINDS, TABLE))
    return choose_segment("Show as", kept, KINDS)


def chart(table: pa.Table, kind: str) -> None:
    """The chart and the choice of its columns, which the address keeps; says why there is none."""
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
    figure = _figure(lines[:MOST_LINES], table.schema.field(across), kind)
    still_chart(figure, f"{', '.join(above)} over {across}", "sql-chart")
    left_out = [f"the first {MOST_POINTS:,} rows"] if table.num_rows > MOST_POINTS else []
    left_out += [f"the first {MOST_LINES} of {len(lines)} lines"] if len(lines) > MOST_LINES else []
    if left_out:
        st.caption(f"Drawn: {' and '.join(left_out)}.")
    if unknown := sum(x is None or y is None for _, xs, ys in lines for x, y in zip(xs, ys, strict=True)):
        st.caption(f"Not drawn: {unknown:,} points of which a value is null.")


def _choices(table: pa.Table, numbers: Sequence[str]) -> tuple[str, list[str], str | None]:
    names = table.column_names
    times = [field.name for field in table.schema if pa.types.is_temporal(field.type)]
    texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
    counted = numbers[:1] if len(numbers) > 1 else []
    first = saved_one("x", names, [*times, *counted, *texts, *numbers][0])
    with st.container(horizontal=True):
        across = choose_one("Across", "x", "sql", {one: one for one in names}, first, WIDTH_PX)
        rest = [name for name in numbers if name != across]
        heights = saved_some("y", rest, rest[:1])
        above = choose_some("Above", "y", "sql", {one: one for one in rest}, "columns", heights, WIDTH_PX)
        groups = [name for name in names if name not in (across, *above) and name in (*texts, *numbers)]
        few = [name for name in groups if name in texts and len(table[name].unique()) <= MOST_LINES]
        colors = {"": "one"} | {one: one for one in groups}
        split = choose_one("Colour", "color", "sql", colors, saved_one("color", colors, next(iter(few), "")), WIDTH_PX)
    return across, above, split or None


def _lines(
    table: pa.Table, across: str, above: Sequence[str], split: str | None
) -> list[tuple[str, list[object], list[object]]]:
    """Name, xs and ys of each line, in the order of the rows."""
    xs = [_at(value) for value in table[across]]
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


def _at(value: pa.Scalar) -> object:
    """As it can be drawn; None of a moment that no calendar has, such as infinity."""
    try:
        bare = value.as_py()
    except (OverflowError, ValueError):
        return None
    return bare.hex() if isinstance(bare, bytes) else bare


def _figure(lines: Sequence[tuple[str, list[object], list[object]]], across: pa.Field, kind: str) -> go.Figure:
    figure = go.Figure()
    for number, (name, xs, ys) in enumerate(lines):
        color = run_color(number, DRAWN_ON)
        if kind == "bar":
            figure.add_bar(x=xs, y=ys, name=plain(name), marker={"color": color})
        else:
            style = {"mode": MODES[kind], "line": {"color": color, "width": 2}, "marker": {"color": color}}
            figure.add_scatter(x=xs, y=ys, name=plain(name), **style)
    return styled(figure, {"title": {"text": plain(across.name)}}, legend=len(lines) > 1)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
