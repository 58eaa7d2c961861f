"""The part of the Launch page that starts what is edited: name, readiness, workload, secrets, and the button."""

from __future__ import annotations

import streamlit as st

from domain import WATCH, Config
from launcher.checks.addresses import default_base_url, default_ready_path
from launcher.checks.preflight import LaunchRefusedError, LaunchRequest, read_ready_url
from launcher.runs.rounds import new_seed, repeated
from web import audit
from web.actions import require_operator
from web.context import services
from web.kept import go_to
from web.launch import draft
from web.launch.host_choice import chosen_host
from web.launch.loads.load_form import choose_load
from web.markup import markdown_text, run_link
from workloads import spec_for


def launch() -> None:
    """What the run is put under, how it is called, when it is ready; and the button."""
    edited = draft.current()
    config = edited.config
    workload, repeats, params, later = choose_load(edited)
    with st.form("launch", border=True):
        name = st.text_input("Name", placeholder="made from what matters")
        left, right = st.columns([3, 2])
        url = left.text_input("Ready when this URL answers 200", placeholder=default_ready_url(config))
        timeout_s = right.number_input("Startup timeout without progress, s", min_value=5, value=600, step=30)
        in_queue = st.checkbox(
            "Queue it: wait for the queued runs on its GPUs",
            value=True,
            disabled=repeats > 1,  # they always wait for each other, and stop
            help="A command that names no GPU waits for all. Runs that share the machine are not ranked.",
        )
        stop_when_done = st.checkbox("Stop the server when its workload has ended", value=True, disabled=repeats > 1)
        given = {n: st.text_input(f"{n} (secret, not stored)", type="password") for n in edited.missing_secrets}
        if kept := edited.secrets_in_use:
            st.caption(markdown_text(f"{', '.join(kept)}: as given, for this launch alone; not stored"))
        can_start = config is not None and not edited.still_required and not edited.problem
        pressed = st.form_submit_button("Launch", type="primary", disabled=not can_start)
    if not pressed or config is None:
        return
    try:
        base_url, ready_path = read_ready_url(url)
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return
    request = LaunchRequest(
        config=config,
        name=name or None,
        workload=spec_for(workload, params),
        later_workloads=later,
        secrets={k: v for k, v in {**kept, **given}.items() if v},
        base_url=base_url,
        ready_path=ready_path,
        ready_timeout_s=float(timeout_s),
        stop_when_done=stop_when_done and workload != WATCH.name,
        makes_model=edited.makes_model,
        on_host=chosen_host(),
    )
    _start(request, repeats, in_queue)


def default_ready_url(config: Config | None) -> str:
    """Where the server will be asked if nothing is typed, as far as that is known."""
    base_url = default_base_url(config) if config else None
    return f"{base_url}{default_ready_path(config)}" if config and base_url else "its port is not known: please give it"


def _start(request: LaunchRequest, repeats: int, in_queue: bool) -> None:
    require_operator()
    try:
        requests = repeated([request], repeats, new_seed())
        runs = services().supervisor.launch_batch(requests, one_after_the_other=in_queue or repeats > 1)
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return
    audit.record("launch", [run.id for run in runs], f"on {request.on_host}" if request.on_host else "")
    go_to(run_link("live", [runs[0].id]))
