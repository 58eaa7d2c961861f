"""The choice of a built-in or saved load with its parameters, used by every form."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from domain import WATCH, JsonValue
from load_records import AGENT_TASK
from web.actions import is_operator
from web.context import services
from web.loads.forms.load_params import choose_params
from web.loads.forms.task_form import choose_task
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
    may_run_task: bool = False,
) -> SavedLoad:
    """Show the choice in `container` and the parameters below it, initially those of `proposed`; return the load.

    may_run_task: offer the operator an agent's task, which has no parameters until it is complete.
    """
    saved = load_library().all()
    tasks = [AGENT_TASK] if may_run_task and is_operator() else []
    options = [*([WATCH.name] if may_watch else []), *REGISTRY, *tasks, *(f"{SAVED}{name}" for name in saved)]
    index = options.index(proposed.workload) if proposed.workload in options else 0
    selected = (container or st.container()).selectbox(label, options, index, format_func=workload_title, key=key)
    load = saved.get(selected.removeprefix(SAVED)) if selected.startswith(SAVED) else None
    if load is None:
        load = proposed if proposed.workload == selected else SavedLoad(workload=selected)
    if load.workload == AGENT_TASK:
        task = choose_task(load.params, f"{key}-{selected}")
        return SavedLoad(workload=AGENT_TASK, params=task.model_dump(mode="json") if task else {})
    params = choose_params(load.workload, load.params, f"{key}-{selected}")
    return SavedLoad(workload=load.workload, params=params)


def is_complete(workload: str, params: Mapping[str, JsonValue]) -> bool:
    """Whether a chosen load can be started: an agent's task may lack its commands."""
    return workload != AGENT_TASK or bool(params)


def workload_title(name: str) -> str:
    """Return a workload's title in the choice."""
    if name.startswith(SAVED):
        return name
    if name == AGENT_TASK:
        return "Agent task: does your agent solve it?"
    return "None: only watch its users' requests" if name == WATCH.name else REGISTRY[name].title
