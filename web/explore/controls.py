"""Explore's controls: chart kind, axes, colour and facets, all kept in the URL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from storage.queries.explore_queries import ARM, METRICS, POINT_FIELDS, STARTED, Metric, View
from storage.queries.run_fields import FIELDS
from web.theme import HUE_COUNT
from web.url_state import choose_one, choose_segment, single_choice, url_expander

PAGE = "explore"
WIDTH_PX = 200  # narrower on small windows (pitwall.css)
SCATTER, LINE, DISTRIBUTION, HEAT = "scatter", "line", "distribution", "heat"
KINDS = {SCATTER: "Points", LINE: "Line over a field", DISTRIBUTION: "Distribution", HEAT: "Heat map"}
FIRST_X, FIRST_ROWS = "k", "quantization"
RUNS, ARMS = "run", "arm"
POINT_UNITS = {RUNS: "one per run", ARMS: "one per arm, with intervals"}


@dataclass(frozen=True, slots=True)
class ExploreSelection:
    """The selected chart. A heat map uses `view.color` for its rows."""

    kind: str
    view: View
    by_arm: bool
    titles: Mapping[str, str]  # of every option

    @property
    def is_mean(self) -> bool:
        return self.kind in (LINE, HEAT) or (self.kind == SCATTER and self.by_arm)


def choose_kind() -> str:
    """Show the kinds of chart, for the title row, and return the selected one."""
    return _segments("draw", KINDS, SCATTER)


def most_varied_field(counts: Mapping[str, int], x: str) -> str | None:
    """Return the field whose values tell the points apart best: the most values that colours can distinguish.

    counts: field -> how many values the points have. The field of the X axis is left out: it would say the same twice.
    """
    varied = {name: counts.get(name, 0) for name in FIELDS if name != x and 1 < counts.get(name, 0) <= HUE_COUNT}
    return max(varied, key=varied.__getitem__, default=None)


def choose(
    kind: str, results: Mapping[str, Metric], value_counts: Callable[[View], Mapping[str, int]]
) -> ExploreSelection:
    """Show the axes side by side and return the selection.

    value_counts: how many values each field has among the points of these axes, for the first colour.
    """
    metrics = {name: metric.title for name, metric in {**METRICS, **results}.items()}
    y = choose_one("Cell colour" if kind == HEAT else "Y axis", "y", PAGE, metrics, "stream", WIDTH_PX)
    fields = _fields(y in results)
    x_options = {**fields, **metrics} if kind == SCATTER else fields
    x = choose_one("X axis", "x", PAGE, x_options, FIRST_X, WIDTH_PX)
    colors = fields if x not in results else _fields(True)
    no_color = {} if kind == HEAT else {"": "one"}
    label = "Rows" if kind == HEAT else "Colour"
    first_color = most_varied_field(value_counts(View(y, x)), x) or (FIRST_ROWS if kind == HEAT else "")
    color = choose_one(label, "color", PAGE, {**no_color, **colors}, first_color, WIDTH_PX)
    facets = {"": "one chart", **colors}
    facet = choose_one("Small charts by", "facet", PAGE, facets, "", WIDTH_PX)
    point_unit = choose_one("Points", "each", PAGE, POINT_UNITS, RUNS, WIDTH_PX) if kind == SCATTER else RUNS
    return ExploreSelection(kind, View(y, x, color, facet), point_unit == ARMS, {**fields, **colors, **metrics})


def metrics_in_address() -> list[str]:
    """Return the axes in the URL, before their widgets are created."""
    return [name for axis in ("y", "x") for name in st.query_params.get_all(axis)]


def _fields(has_points: bool) -> dict[str, str]:
    """Return field -> title of the fields that distinguish runs, with those of load points if there are any."""
    point_fields = {name: title for name, (title, _) in POINT_FIELDS.items()} if has_points else {}
    return {**{name: field.title for name, field in FIELDS.items()}, ARM: "Arm", STARTED: "Start", **point_fields}


def choice_row() -> tuple[DeltaGenerator, DeltaGenerator]:
    """The row above the chart: places for the axes and for the filters, which have a row of their own while open."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="explore-choices"):
        axes = st.container(horizontal=True, vertical_alignment="bottom", key="explore-axes")
        return axes, st.container(key="explore-filters")


def runs_filter_section(filter_count: int) -> DeltaGenerator:
    """The section of the filters; it shows their number beside its title, and starts open once a filter was used.

    The title never changes: with another one Streamlit would recreate the content, and a user in it would lose focus.
    """
    open_key = f"{PAGE}-filtered"
    st.session_state[open_key] = st.session_state.get(open_key, False) or filter_count > 0
    with st.container(key="which-runs", gap=None):
        section = url_expander("Which runs", "which", PAGE, ":material/filter_list:", st.session_state[open_key])
        if filter_count:
            with st.container(key="filters-in-use"):
                st.caption(f"{filter_count} in use")
    return section


def _segments(name: str, options: Mapping[str, str], default: str) -> str:
    choice = single_choice(name, f"{PAGE}-{name}", list(options), default)
    return choose_segment("Draw", choice, options)
