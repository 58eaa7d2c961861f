"""Which load: one of Pitwall's, or one kept under a name, with its parameters; the same in every form."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from domain import WATCH
from web.context import services
from web.launch.loads.load_params import choose_params
from workloads import REGISTRY
from workloads.saved_loads import SavedLoad, SavedLoads

SAVED = "Saved: "


def kept_loads() -> SavedLoads:
    """The loads that people keep under a name, in the data folder."""
    return SavedLoads(services().settings.loads_dir)


def choose_workload(
    proposed: SavedLoad, key: str, label: str = "Workload", may_watch: bool = False, place: DeltaGenerator | None = None
) -> SavedLoad:
    """What is chosen in `place`, its parameters below; those of `proposed` for the same workload again."""
    kept = kept_loads().all()
    options = [*([WATCH.name] if may_watch else []), *REGISTRY, *(f"{SAVED}{name}" for name in kept)]
    at = options.index(proposed.workload) if proposed.workload in options else 0
    chosen = (place or st.container()).selectbox(label, options, at, format_func=workload_title, key=key)
    found = kept.get(chosen.removeprefix(SAVED)) if chosen.startswith(SAVED) else None
    if found is None:
        found = proposed if proposed.workload == chosen else SavedLoad(workload=chosen)
    params = choose_params(found.workload, found.params, f"{key}-{chosen}")
    return SavedLoad(workload=found.workload, params=params)


def workload_title(name: str) -> str:
    """As a person reads it."""
    if name.startswith(SAVED):
        return name
    return "None: watch what its users do" if name == WATCH.name else REGISTRY[name].title
