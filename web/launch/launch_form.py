"""The part of the Launch page that starts what is edited: name, readiness, workload, secrets, and the button."""

from __future__ import annotations

import streamlit as st

from domain import WATCH, Config
from launcher.checks.preflight import LaunchRefusedError, LaunchRequest, read_ready_url
from launcher.checks.readiness import default_base_url, default_ready_path
from web import audit, places
from web.actions import require_operator
from web.context import services
from web.launch import draft
from web.markup import markdown_text
from workloads import REGISTRY, spec_for


def launch() -> None:
    """How the run is called, when it is ready, what it is put under; and the button."""
    edited = draft.current()
    config = edited.config
    with st.form("launch", border=True):
        name = st.text_input("Name", placeholder="made from what matters")
        workloads = [WATCH.name, *REGISTRY]
        kept_load = (
            workloads.index(edited.workload.name) if edited.workload and edited.workload.name in workloads else 0
        )
        workload = st.selectbox("Workload", workloads, kept_load, format_func=_workload_title)
        left, right = st.columns([3, 2])
        url = left.text_input("Ready when this URL answers 200", placeholder=default_ready_url(config))
        timeout_s = right.number_input("Give up without progress for, s", min_value=5, value=600, step=30)
        in_queue = st.checkbox(
            "Queue it: wait for the queued runs on its GPUs",
            value=True,
            help="A command that names no GPU waits for all. Runs that share the machine are not ranked.",
        )
        stop_when_done = st.checkbox("Stop the server when its workload has ended", value=True)
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
        workload=spec_for(workload, edited.load_params(workload)),
        secrets={k: v for k, v in {**kept, **given}.items() if v},
        base_url=base_url,
        ready_path=ready_path,
        ready_timeout_s=float(timeout_s),
        stop_when_done=stop_when_done and workload != WATCH.name,
        makes_model=edited.makes_model,
    )
    _start(request, in_queue)


def _workload_title(name: str) -> str:
    return "None: watch what its users do" if name == WATCH.name else REGISTRY[name].title


def default_ready_url(config: Config | None) -> str:
    """Where the server will be asked if nothing is typed, as far as that is known."""
    base_url = default_base_url(config) if config else None
    return f"{base_url}{default_ready_path(config)}" if config and base_url else "its port is not known: please give it"


def _start(request: LaunchRequest, in_queue: bool) -> None:
    require_operator()
    try:
        runs = services().supervisor.launch_batch([request], one_after_the_other=in_queue)
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return
    audit.record("launch", [run.id for run in runs])
    st.switch_page(places.LIVE, query_params={"run": [runs[0].id]})
