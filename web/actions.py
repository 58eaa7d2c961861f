"""What a page may set going: the demo, a stop; each refused to whoever may not."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from demo.presets import demo_configs
from domain import Run
from launcher.checks.preflight import LaunchRefusedError, LaunchRequest
from launcher.runs.rounds import new_seed, repeated
from web import audit, places
from web.access.roles import EDITORS, MEMBERS, current_role
from web.context import services
from web.markup import markdown_text
from workloads import spec_for

DEMO_WORKLOAD = "demo-stream"
# Nine starts take two minutes on two quiet cores, and each request lasts longer than the two looks that a speed needs.
DEMO_PARAMS = {"requests": 4, "tokens": 900}
DEMO_REPEATS = 3


def is_operator() -> bool:
    return current_role() == "operator"


def is_editor() -> bool:
    """Whether this person may write notes, tags and views and put loads on servers; the operator may."""
    return current_role() in EDITORS


def is_member() -> bool:
    """Whether this person sees every run, as the operator, editors and viewers do; a guest of a link does not."""
    return current_role() in MEMBERS


def require_operator() -> None:
    """Stop an action here, whatever the page showed."""
    if not is_operator():
        raise PermissionError("Only the operator may do this.")


def require_editor() -> None:
    """Likewise, for what editors may do too."""
    if not is_editor():
        raise PermissionError("Only the operator and editors may do this.")


def require_member() -> None:
    """Likewise, for what every member of the team may do."""
    if not is_member():
        raise PermissionError("A guest of a link may not do this.")


def demo_buttons() -> None:
    """Start the three demo configurations, one after the other unless asked otherwise; for the operator."""
    if not is_operator():
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        start = st.button("Run the demo", type="primary")
        at_once = st.toggle(
            "All at once",
            help="Runs that share the machine slow each other down and are not ranked against each other.",
        )
        st.page_link(places.LAUNCH, label="Launch your own engine")
    if start:
        runs = start_demo(one_after_the_other=not at_once)
        if runs:
            first_round = [run.id for run in runs if run.round in (None, 1)]
            st.query_params["run"] = first_round
            st.switch_page(places.LIVE, query_params={"run": first_round})


def start_demo(one_after_the_other: bool) -> list[Run]:
    """Launch the demo's configurations, in rounds where they run alone; a refusal is told on the page."""
    require_operator()
    workload = spec_for(DEMO_WORKLOAD, DEMO_PARAMS)
    requests = [
        LaunchRequest(config=one.config, name=one.name, workload=workload, makes_model=True)
        for one in demo_configs(services().settings.data_dir)
    ]
    try:
        in_rounds = repeated(requests, DEMO_REPEATS if one_after_the_other else 1, new_seed())
        runs = services().supervisor.launch_batch(in_rounds, one_after_the_other)
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return []
    audit.record("launch", [run.id for run in runs], "the demo")
    return runs


def stop_buttons(runs: Sequence[Run]) -> None:
    """One button a run that can be ended: stopped if we launched it, let go if we only watch; several behind one."""
    stoppable = [run for run in runs if not run.state.is_final]
    if not stoppable or not is_operator():
        return
    with st.popover("Stop", key="stop-some") if len(stoppable) > 1 else st.container(width="content"):
        for run in stoppable:
            word = "Stop watching" if run.kind == "attached" else "Cancel" if run.state == "queued" else "Stop"
            st.button(f"{word} {markdown_text(run.name)}", key=f"stop-{run.id}", on_click=_stop, args=(run.id,))


def _stop(run_id: str) -> None:
    require_operator()
    run = services().supervisor.stop(run_id)
    audit.record("cancel" if run.kind == "launched" and run.started_at is None else "stop", [run_id])
