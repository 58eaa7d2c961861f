"""The panel that runs an agent's task on the server of a run, for the operator alone: it runs what is typed."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
import tomli_w

from domain import Run, RunState, WorkloadSpec
from load_records import AGENT_TASK
from web.actions import require_operator
from web.loads.forms.task_form import choose_task
from web.loads.panels.server_key import ask_key
from web.loads.panels.start_load import start_load
from workloads import spec_for
from workloads.agent_tasks.task_params import AgentTaskParams


def show_task_panel(run: Run) -> None:
    """Show the form of a task, the file that it makes, and the button that starts it."""
    key = f"task-{run.id}"
    if params := choose_task({}, key):
        _show_start(run, params, key)


def _show_start(run: Run, params: AgentTaskParams, key: str) -> None:
    fields = params.model_dump(mode="json", exclude_defaults=True)
    with st.expander("As a file, for `./pitwall task start` and for studies"):
        st.code(tomli_w.dumps(fields), language="toml", wrap_lines=True)
    secrets = ask_key(run, f"{key}-server-key")
    if st.button("Run the task", key=f"{key}-start", type="primary", disabled=run.state is not RunState.READY):
        _start(run, spec_for(AGENT_TASK, fields), secrets)


def _start(run: Run, spec: WorkloadSpec, secrets: Mapping[str, str]) -> None:
    require_operator()
    start_load(run, spec, secrets)
