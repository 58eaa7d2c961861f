"""A parameter of the load to vary in a sweep, beside those of the configuration."""

from __future__ import annotations

import streamlit as st

from commands.sweep import read_words
from web.launch.loads.load_form import Load
from web.launch.loads.load_params import title_of
from workloads.variants import LoadVariant, load_variants, read_param, variable_params


def vary_load(load: Load) -> list[LoadVariant]:
    """The loads that the sweep puts every configuration under; raises CommandError or PlanError for wrong values."""
    left, right = st.columns([2, 3])
    key = f"sweep-load-param-{load.workload}"
    names = variable_params(load.workload)
    name = left.selectbox(
        "And vary of the load", names, index=None, format_func=title_of, placeholder="a parameter", key=key
    )
    text = right.text_input("Values of the load's parameter", placeholder="1, 2, 4..8", key=f"{key}-values")
    if not name or not text.strip():
        return [LoadVariant("", load.params)]
    values = read_words(name, text, lambda word: read_param(load.workload, name, word))
    return load_variants(load.workload, load.params, name, values)
