"""The panel that runs loads on a running server, launched or attached, one after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from domain import Run, RunState
from storage.queries import load_queries
from web.actions import is_editor, is_operator, require_editor
from web.context import services
from web.loads.forms.load_choice import choose_workload
from web.loads.forms.load_params import FILE
from web.loads.forms.saved_load_box import show_saved_load_box
from web.loads.panels.drive_panel import show_drive_panel
from web.loads.panels.server_key import ask_key
from web.loads.panels.start_load import start_load
from web.loads.panels.task_panel import show_task_panel
from web.markup import markdown_text
from web.url_state import url_expander
from workloads import REGISTRY, spec_for
from workloads.forecast import refusal_of_context
from workloads.saved_loads import SavedLoad
from workloads.shapes.five_prompts import FIVE_PROMPTS

OWN_LOAD, OTHER_TOOL, AN_AGENT = "Pitwall's own load", "Another tool", "An agent's task"

PANELS: Mapping[str, Callable[[Run], None]] = {OTHER_TOOL: show_drive_panel, AN_AGENT: show_task_panel}


def show_load_panel(run: Run) -> None:
    """Show operators and editors the panel while the server responds; only the operator runs other programs."""
    if not is_editor() or run.kind == "imported" or run.state not in (RunState.READY, RunState.RUNNING):
        return
    with url_expander("Run a load on this server", "load", "run", ":material/speed:"):
        if run.state is RunState.RUNNING:
            st.caption("A load is running on this server. The next one can start when it has ended.")
        if is_operator() and (panel := PANELS.get(_choose_sender(run))):
            panel(run)
            return
        load = choose_workload(_last_load(run), f"load-of-{run.id}", "Load")
        secrets = ask_key(run, "load-key")
        refusal = refusal_of_load(run, load)
        if refusal:
            st.error(markdown_text(refusal))
        is_disabled = run.state is not RunState.READY or refusal is not None
        narrow, wide = st.columns([1, 3], vertical_alignment="bottom")
        if narrow.button("Start the load", type="primary", disabled=is_disabled, key="start-load"):
            _start(run, load, secrets)
        with wide:
            show_saved_load_box(load)


def _choose_sender(run: Run) -> str:
    senders = [OWN_LOAD, *PANELS]
    return str(st.segmented_control("By", senders, default=OWN_LOAD, key=f"by-{run.id}"))


def _last_load(run: Run) -> SavedLoad:
    """Return the last load on this run that Pitwall has, else its first choice, the five prompts."""
    plans = [load.plan for load in load_queries.loads(services().store, [run.id])[run.id] if load.plan]
    for plan in reversed(plans):
        if plan.workload in REGISTRY:
            return SavedLoad(workload=plan.workload, params=plan.params)
    return SavedLoad(workload=FIVE_PROMPTS.name)


def refusal_of_load(run: Run, load: SavedLoad) -> str | None:
    """Return why the load cannot run, because of its file or the server's known context length, else None."""
    return refusal_of_context(load.workload, load.params, run.config.max_model_len)


def _start(run: Run, load: SavedLoad, secrets: Mapping[str, str]) -> None:
    require_editor()
    if load.params.get(FILE) and not is_operator():
        st.error("Only the operator may send prompts from a file on this machine.")
        return
    start_load(run, spec_for(load.workload, load.params), secrets)
