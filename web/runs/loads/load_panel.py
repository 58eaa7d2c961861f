"""Put a load on a server that runs: launched or attached, again and again."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from domain import Run, RunState
from launcher.checks.preflight import LaunchRefusedError
from storage.ask import load_queries
from web import audit
from web.actions import is_editor, is_operator, require_editor
from web.context import services
from web.kept import fold
from web.launch.loads.load_choice import choose_workload
from web.launch.loads.load_params import FILE
from web.launch.loads.saved_load_box import keep_load
from web.markup import markdown_text
from web.runs.loads.drive_panel import drive_panel
from web.runs.loads.server_key import ask_key
from workloads import REGISTRY, spec_for
from workloads.forecast import forecast
from workloads.saved_loads import SavedLoad
from workloads.shapes.five_prompts import FIVE_PROMPTS
from workloads.texts.prompt_file import PlanError

OURS, THEIRS = "Pitwall's own load", "Another tool"


def load_panel(run: Run) -> None:
    """For the operator and editors, of a run whose server answers; other tools are programs of the operator's."""
    if not is_editor() or run.kind == "imported" or run.state not in (RunState.READY, RunState.RUNNING):
        return
    with fold("Put a load on this server", "load", "run", ":material/speed:"):
        if run.state is RunState.RUNNING:
            st.caption("A load is running on it: the next one can begin when that has ended.")
        if is_operator() and _by_another_tool(run):
            drive_panel(run)
            return
        chosen = choose_workload(_last_load(run), f"load-of-{run.id}", "Load")
        secrets = ask_key(run, "load-key")
        why_not = why_not_sent(run, chosen)
        if why_not:
            st.error(markdown_text(why_not))
        is_disabled = run.state is not RunState.READY or why_not is not None
        left, right = st.columns([1, 3], vertical_alignment="bottom")
        if left.button("Start the load", type="primary", disabled=is_disabled, key="start-load"):
            _start(run, chosen, secrets)
        with right:
            keep_load(chosen)


def _by_another_tool(run: Run) -> bool:
    return st.segmented_control("By", [OURS, THEIRS], default=OURS, key=f"by-{run.id}") == THEIRS


def _last_load(run: Run) -> SavedLoad:
    """What was put on it last, else what a server of our kind is put under first."""
    asked_loads = [load.asked for load in load_queries.loads(services().store, [run.id])[run.id] if load.asked]
    for asked in reversed(asked_loads):
        if asked.workload in REGISTRY:
            return SavedLoad(workload=asked.workload, params=asked.params)
    return SavedLoad(workload=FIVE_PROMPTS.name)


def why_not_sent(run: Run, load: SavedLoad) -> str | None:
    """The sentence that says that its file cannot be used, or that the server's context is known to be too short."""
    context = run.config.max_model_len
    try:
        longest = forecast(load.workload, load.params, 1.0).longest_tokens
    except PlanError as error:
        return str(error)
    if context is None or longest <= context:
        return None
    return (
        f"Its context is {context:,} tokens, and the longest request of this load needs about {longest:,}, "
        "prompt and answer together."
    )


def _start(run: Run, load: SavedLoad, secrets: Mapping[str, str]) -> None:
    require_editor()
    if load.params.get(FILE) and not is_operator():
        st.error("Only the operator may send prompts from a file of this machine.")
        return
    spec = spec_for(load.workload, load.params)
    try:
        services().supervisor.start_load(run.id, spec, secrets)
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return
    audit.record("load", [run.id], load.workload)
    st.rerun()
