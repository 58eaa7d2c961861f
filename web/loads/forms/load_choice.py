"""The choice of a built-in or saved load with its parameters, used by every form."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from domain import WATCH
from web.context import services
from web.loads.forms.load_params import choose_params
from workloads import REGISTRY
from workloads.saved_loads import SavedLoad, SavedLoads

SAVED = "Saved: "


def load_library() -> SavedLoads:
    """Return the saved loads of the data folder."""
    return SavedLoads(services().settings.loads_dir)


def choose_workload(
    proposed: SavedLoad,
    key: str,
    label: str = "Workload",
    may_watch: bool = False,
    container: DeltaGenerator | None = None,
) -> SavedLoad:
    """Show the choice in `container` and the parameters below it, initially those of `proposed`; return the load."""
    saved = load_library().all()
    options = [*([WATCH.name] if may_watch else []), *REGISTRY, *(f"{SAVED}{name}" for name in saved)]
    index = options.index(proposed.workload) if proposed.workload in options else 0
    selected = (container or st.container()).selectbox(label, options, index, format_func=workload_title, key=key)
    load = saved.get(selected.removeprefix(SAVED)) if selected.startswith(SAVED) else None
    if load is None:
        load = proposed if proposed.workload == selected else SavedLoad(workload=selected)
    params = choose_params(load.workload, load.params, f"{key}-{selected}")
    return SavedLoad(workload=load.workload, params=params)


def workload_title(name: str) -> str:
    """Return a workload's title in the choice."""
    if name.startswith(SAVED):
        return name
    return "None: only watch its users' requests" if name == WATCH.name else REGISTRY[name].title
