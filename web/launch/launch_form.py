"""The part of the Launch page that starts the draft: name, readiness, workload, secrets and the button."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from domain import WATCH, Config
from launcher.checks.addresses import default_base_url, default_ready_path
from launcher.checks.launch_request import LaunchRefusedError, LaunchRequest, read_ready_url
from launcher.runs.rounds import new_seed, repeat_requests
from web import audit, markup
from web.actions import require_operator
from web.context import services
from web.launch import draft
from web.launch.host_choice import chosen_host
from web.launch.launch_check import lacks_text
from web.launch.load_form import choose_load, estimate_text
from web.loads.forms.load_choice import is_complete
from web.markup import markdown_text, run_link
from web.redirects import go_to
from workloads import spec_for

KNOWN_RUNS = 200  # of which the duration is estimated


def show_launch_form() -> None:
    """The workload, the name, readiness and the button."""
    edited_draft = draft.current()
    config = edited_draft.config
    load = choose_load(edited_draft)
    workload, repeats, params, later = load
    estimate = estimate_text(config, load, services().store.runs(limit=KNOWN_RUNS)) if config else None
    with st.form("launch", border=True, enter_to_submit=False):  # a name is no order to start servers
        name = st.text_input("Name", placeholder="made from the main settings")
        left_column, right_column = st.columns([3, 2])
        url = left_column.text_input("Ready when this URL answers 200", placeholder=default_ready_url(config))
        timeout_s = right_column.number_input("Startup timeout without progress, s", min_value=5, value=600, step=30)
        working_folder = st.text_input(
            "Working folder",
            placeholder="the home folder on the host" if chosen_host() else str(Path.cwd()),
            help="The folder in which the command runs, as after `cd`: paths in it are relative to this folder.",
        )
        in_queue = st.checkbox(
            "Queue: wait for the queued runs on its GPUs",
            value=True,
            disabled=repeats > 1,  # repeats always wait for each other, and stop
            help="A command that names no GPU waits for all GPUs. Runs that share the machine are not ranked.",
        )
        stop_when_done = st.checkbox("Stop the server when its workload ends", value=True, disabled=repeats > 1)
        typed_secrets = {
            n: st.text_input(f"{n} (secret, not stored)", type="password") for n in edited_draft.missing_secrets
        }
        if known_secrets := edited_draft.secrets_in_use:
            st.caption(
                markdown_text(f"{', '.join(known_secrets)}: from the command, used for this launch only and not stored")
            )
        is_draft_complete = config is not None and not edited_draft.still_required and not edited_draft.problem
        can_start = is_draft_complete and is_complete(workload, params)
        with st.container(key="launch-bar"):  # at the bottom of the window: web/static/pitwall.css
            problem = st.empty()
            with st.container(horizontal=True, vertical_alignment="center", key="launch-start"):
                pressed = st.form_submit_button("Launch", type="primary", disabled=not can_start)
                st.html(_bar_html(lacks_text(), estimate))
    if not pressed or config is None:
        return
    try:
        base_url, ready_path = read_ready_url(url)
    except LaunchRefusedError as refusal:
        problem.error(markdown_text(str(refusal)))
        return
    request = LaunchRequest(
        config=config,
        name=name or None,
        workload=spec_for(workload, params),
        later_workloads=later,
        secrets={k: v for k, v in {**known_secrets, **typed_secrets}.items() if v},
        base_url=base_url,
        cwd=Path(working_folder.strip()) if working_folder.strip() else None,
        ready_path=ready_path,
        ready_timeout_s=float(timeout_s),
        stop_when_done=stop_when_done and workload != WATCH.name,
        makes_model=edited_draft.makes_model,
        on_host=chosen_host(),
    )
    try:
        _start(request, repeats, in_queue)
    except LaunchRefusedError as refusal:
        problem.error(markdown_text(str(refusal)))


def _bar_html(lacks: str | None, estimate: str | None) -> str:
    """Return what somebody should know before they press Launch, wherever the page is scrolled to."""
    doubt = f'<span class="pw-doubt">{markup.text(lacks)}</span> ' if lacks else ""
    return f'<p class="pw-launch-facts">{doubt}{markup.text(estimate or "")}</p>'


def default_ready_url(config: Config | None) -> str:
    """Return the default readiness URL as placeholder text, or ask for one if the port is not known."""
    base_url = default_base_url(config) if config else None
    return f"{base_url}{default_ready_path(config)}" if config and base_url else "No port in the command. Enter a URL."


def _start(request: LaunchRequest, repeats: int, in_queue: bool) -> None:
    """Launch, and go to the run's Live page; raises LaunchRefusedError."""
    require_operator()
    requests = repeat_requests([request], repeats, new_seed())
    runs = services().supervisor.launch_batch(requests, one_after_the_other=in_queue or repeats > 1)
    audit.record("launch", [run.id for run in runs], f"on {request.on_host}" if request.on_host else "")
    go_to(run_link("live", [runs[0].id]))
