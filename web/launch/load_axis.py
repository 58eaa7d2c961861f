"""The load parameter that a sweep varies, in addition to configuration fields."""

from __future__ import annotations

import streamlit as st

from commands.sweep import read_words
from web.launch.load_form import LaunchLoad
from web.loads.forms.load_params import field_title
from workloads.variants import LoadVariant, load_variants, read_param, variable_params


def vary_load(load: LaunchLoad) -> list[LoadVariant]:
    """Return the loads to run on every configuration. Raises CommandError or PlanError for invalid values."""
    left_column, right_column = st.columns([2, 3])
    key = f"sweep-load-param-{load.workload}"
    names = variable_params(load.workload)
    name = left_column.selectbox(
        "And vary a load parameter", names, index=None, format_func=field_title, placeholder="a parameter", key=key
    )
    text = right_column.text_input("Values of the load parameter", placeholder="1, 2, 4..8", key=f"{key}-values")
    if not name or not text.strip():
        return [LoadVariant("", load.params)]
    values = read_words(name, text, lambda word: read_param(load.workload, name, word))
    return load_variants(load.workload, load.params, name, values)
