"""What Explore draws, as it is chosen on the page; the address keeps all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from storage.ask.explore_queries import ARM, METRICS, POINT_FIELDS, STARTED, Metric, View
from storage.ask.run_fields import FIELDS
from web.kept import choose_one, choose_segment, fold, kept_one

PAGE = "explore"
WIDTH_PX = 230  # less where the window is narrow, as the style sheet has it
SCATTER, LINE, DISTRIBUTION, HEAT = "scatter", "line", "distribution", "heat"
KINDS = {SCATTER: "Points", LINE: "Line over a field", DISTRIBUTION: "Distribution", HEAT: "Heat map"}
RUNS, ARMS = "run", "arm"
EACH = {RUNS: "one per run", ARMS: "one per arm, with intervals"}


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is drawn and how. `color` of a heat map is the field of its rows."""

    kind: str
    view: View
    by_arm: bool
    titles: Mapping[str, str]  # of everything that can be chosen

    @property
    def is_mean(self) -> bool:
        return self.kind in (LINE, HEAT) or (self.kind == SCATTER and self.by_arm)


def choose(results: Mapping[str, Metric]) -> Chosen:
    """The widgets, in two rows."""
    kind = _segments("draw", KINDS, SCATTER)
    metrics = {name: metric.title for name, metric in {**METRICS, **results}.items()}
    with st.container(horizontal=True, vertical_alignment="bottom", key="explore-axes"):
        y = choose_one("Colour of a cell" if kind == HEAT else "Y axis", "y", PAGE, metrics, "stream", WIDTH_PX)
        fields = _fields(y in results)
        across = {**fields, **metrics} if kind == SCATTER else fields
        x = choose_one("X axis", "x", PAGE, across, "k", WIDTH_PX)
        colors = fields if x not in results else _fields(True)
        nothing = {} if kind == HEAT else {"": "one"}
        label = "Rows" if kind == HEAT else "Colour"
        color = choose_one(label, "color", PAGE, {**nothing, **colors}, "quantization", WIDTH_PX)
        facets = {"": "one chart", **colors}
        facet = choose_one("Small charts by", "facet", PAGE, facets, "", WIDTH_PX)
        each = choose_one("Points", "each", PAGE, EACH, RUNS, WIDTH_PX) if kind == SCATTER else RUNS
    return Chosen(kind, View(y, x, color, facet), each == ARMS, {**fields, **colors, **metrics})


def chosen_metrics() -> list[str]:
    """What the address names as axes, before their widgets are made."""
    return [name for axis in ("y", "x") for name in st.query_params.get_all(axis)]


def _fields(has_points: bool) -> dict[str, str]:
    """What distinguishes runs; the fields of a load's points where there are such."""
    of_points = {name: title for name, (title, _) in POINT_FIELDS.items()} if has_points else {}
    return {**{name: field.title for name, field in FIELDS.items()}, ARM: "Arm", STARTED: "Start", **of_points}


def which_runs(in_use: int) -> DeltaGenerator:
    """Where the filters stand: how many are in use is seen beside its title, and once one was it is open at first.

    The title itself stays: under another one Streamlit makes all in it anew, and who chooses there loses the focus.
    """
    is_open = f"{PAGE}-filtered"
    st.session_state[is_open] = st.session_state.get(is_open, False) or in_use > 0
    with st.container(key="which-runs", gap=None):
        section = fold("Which runs", "which", PAGE, ":material/filter_list:", st.session_state[is_open])
        if in_use:
            with st.container(key="filters-in-use"):
                st.caption(f"{in_use} filter{'s' * (in_use != 1)} in use")
    return section


def _segments(name: str, options: Mapping[str, str], default: str) -> str:
    kept = kept_one(name, f"{PAGE}-{name}", list(options), default)
    return choose_segment("Draw", kept, options)
