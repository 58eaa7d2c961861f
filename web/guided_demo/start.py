"""The button that starts the demo, and what it will do in a sentence."""

from __future__ import annotations

import streamlit as st

from demo.presets import demo_configs
from domain import JsonValue, Run
from launcher.checks.preflight import LaunchRefusedError, LaunchRequest
from launcher.runs.rounds import new_seed, repeated
from web import audit, places
from web.actions import is_operator, require_operator
from web.context import services
from web.guided_demo.pace import FULL_TOKENS, tokens_for_this_machine
from web.guided_demo.tour import followed
from web.kept import go_to
from web.markup import markdown_text
from workloads import spec_for

WORKLOAD = "demo-stream"
PARAMS: dict[str, JsonValue] = {"requests": 2, "tokens": FULL_TOKENS}
REPEATS = 3
ABOUT = (
    "A small model is served by llama.cpp on this machine's CPU: without speculation, with a draft model and with "
    f"n-gram drafts, {REPEATS} starts of each in turn. You watch it live, and it ends on the answer. On two quiet "
    "cores that takes about two minutes; on a slow or busy machine the answers are shorter."
)


def first_demo() -> None:
    """Where nothing has run yet: the button, and what will happen; for the operator."""
    if not is_operator():
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        _buttons()
        st.page_link(places.LAUNCH, label="Launch your own engine")
    st.caption(ABOUT)


def demo_again() -> None:
    """The same for later, folded away."""
    if not is_operator():
        return
    with st.expander("The demo"):
        st.caption(ABOUT)
        with st.container(horizontal=True, vertical_alignment="center"):
            _buttons()


def _buttons() -> None:
    """Start the three demo configurations, one after the other unless asked otherwise."""
    start = st.button("Run the demo", type="primary")
    at_once = st.toggle(
        "All at once",
        help="Runs that share the machine slow each other down and are not ranked against each other.",
    )
    if start and (runs := start_demo(one_after_the_other=not at_once)):
        first_round = [run.id for run in runs if run.round in (None, 1)]
        go_to(followed(first_round))


def start_demo(one_after_the_other: bool) -> list[Run]:
    """Launch the demo's configurations, in rounds where they run alone; a refusal is shown on the page."""
    require_operator()
    full = PARAMS["tokens"]
    assert isinstance(full, int)
    workload = spec_for(WORKLOAD, PARAMS | {"tokens": tokens_for_this_machine(full)})
    requests = [
        LaunchRequest(config=one.config, name=one.name, workload=workload, makes_model=True)
        for one in demo_configs(services().settings.data_dir)
    ]
    try:
        in_rounds = repeated(requests, REPEATS if one_after_the_other else 1, new_seed())
        runs = services().supervisor.launch_batch(in_rounds, one_after_the_other)
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return []
    audit.record("launch", [run.id for run in runs], "the demo")
    return runs
