"""The button that starts the demo, with a description of it."""

from __future__ import annotations

import streamlit as st

from demo.presets import demo_configs
from domain import JsonValue, Run
from launcher.checks.launch_request import LaunchRefusedError, LaunchRequest
from launcher.runs.rounds import new_seed, repeat_requests
from web import audit, page_paths
from web.actions import is_operator, require_operator
from web.context import services
from web.guided_demo.pace import FULL_TOKENS, tokens_for_this_machine
from web.guided_demo.tour import tour_address
from web.markup import markdown_text
from web.redirects import go_to
from web.sections import PageSection
from workloads import spec_for

WORKLOAD = "demo-stream"
PARAMS: dict[str, JsonValue] = {"requests": 2, "tokens": FULL_TOKENS}
REPEATS = 3
ABOUT = (
    "llama.cpp serves a small model on this machine's CPU: without speculation, with a draft model and with n-gram "
    f"drafts, {REPEATS} starts of each in rotation. You watch it live, and it ends with the answer. On two idle cores "
    "this takes about two minutes; on a slow or busy machine the responses are shorter."
)


def show_first_demo() -> None:
    """Show the operator the demo's button and description while there is no run."""
    if not is_operator():
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        _show_buttons()
        st.page_link(page_paths.LAUNCH, label="Launch your own engine")
    st.caption(ABOUT)


def demo_section() -> PageSection | None:
    """Return the operator's section with the same, for once there are runs."""
    return PageSection("demo", "The demo", _show) if is_operator() else None


def _show() -> None:
    st.caption(ABOUT)
    with st.container(horizontal=True, vertical_alignment="center"):
        _show_buttons()


def _show_buttons() -> None:
    """Show the button that starts the three configurations, and the switch to start them all at once."""
    start = st.button("Run the demo", type="primary")
    is_parallel = st.toggle(
        "All at once",
        help="Runs that share the machine slow each other down and are not ranked against each other.",
    )
    if start and (runs := start_demo(one_after_the_other=not is_parallel)):
        first_round = [run.id for run in runs if run.round in (None, 1)]
        go_to(tour_address(first_round))


def start_demo(one_after_the_other: bool) -> list[Run]:
    """Launch the demo's configurations, in rounds if they run one at a time; a refusal is shown on the page."""
    require_operator()
    full = PARAMS["tokens"]
    assert isinstance(full, int)
    workload = spec_for(WORKLOAD, PARAMS | {"tokens": tokens_for_this_machine(full)})
    requests = [
        LaunchRequest(config=preset.config, name=preset.name, workload=workload, makes_model=True)
        for preset in demo_configs(services().settings.data_dir)
    ]
    try:
        in_rounds = repeat_requests(requests, REPEATS if one_after_the_other else 1, new_seed())
        runs = services().supervisor.launch_batch(in_rounds, one_after_the_other)
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return []
    audit.record("launch", [run.id for run in runs], "the demo")
    return runs
