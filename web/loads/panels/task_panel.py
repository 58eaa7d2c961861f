"""The panel that runs an agent's task on the server of a run, for the operator alone: it runs what is typed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import streamlit as st
import tomli_w
from pydantic import ValidationError

from domain import Run, RunState, WorkloadSpec
from load_records import AGENT_TASK
from web.actions import require_operator
from web.loads.panels.server_key import ask_key
from web.loads.panels.start_load import start_load
from web.markup import markdown_text
from workloads import spec_for
from workloads.agent_tasks.task_params import AgentTaskParams

ABOUT = (
    "The agent runs with your rights in a fresh copy of the folder, without a sandbox. It reaches this server through "
    "a recorder by ANTHROPIC_BASE_URL, OPENAI_BASE_URL and their keys. The task is solved if the check exits with 0."
)
PLACES = "{base_url}, {key}, {model} and {folder} are replaced. No shell reads the command: it is split as one would."
AGENT_EXAMPLE = "claude -p 'Do what TASK.md says' --model {model}"
VARIABLES_HELP = "NAME=value, one per line. Their values are stored: write {key} for the key."
PASSED_HELP = "Names of environment variables with secrets that the agent may have, separated by spaces."


def show_task_panel(run: Run) -> None:
    """Show the form of a task, the file that it makes, and the button that starts it."""
    st.caption(ABOUT)
    key = f"task-{run.id}"
    agent = st.text_input("Agent", key=f"{key}-agent", placeholder=AGENT_EXAMPLE, help=PLACES)
    folder = st.text_input("Folder on this machine", key=f"{key}-folder", placeholder="/home/me/tasks/parser")
    check = st.text_input("Check", key=f"{key}-check", placeholder="python -m pytest -q", help=PLACES)
    repeats_column, limit_column, check_column = st.columns(3)
    values: dict[str, Any] = {
        "repeats": repeats_column.number_input("Repeats", 1, 100, 5, key=f"{key}-repeats"),
        "time_limit_s": limit_column.number_input("Time limit, s", 1.0, 86_400.0, 900.0, key=f"{key}-limit"),
        "check_limit_s": check_column.number_input("Limit of the check, s", 1.0, 86_400.0, 120.0, key=f"{key}-late"),
    }
    with st.expander("Name, version, variables, limits of the copies"):
        values |= _more_values(key)
    if not (agent and folder and check):
        st.caption("Enter an agent, a folder and a check.")
        return
    if params := _read(agent, folder, check, values):
        _show_start(run, params, key)


def _more_values(key: str) -> dict[str, Any]:
    """Show the inputs that a task can do without, and return their values."""
    return {
        "task": st.text_input("Name of the task", key=f"{key}-name", placeholder="that of the folder"),
        "version": st.text_input("Command that prints the agent's version", key=f"{key}-version"),
        "env": st.text_area("Variables", key=f"{key}-env", help=VARIABLES_HELP),
        "pass_env": st.text_input("Secrets to pass on", key=f"{key}-pass", help=PASSED_HELP).split(),
        "copy_mib": st.number_input("Size of a copy at most, MiB", 1, 65_536, 512, key=f"{key}-mib"),
        "copy_files": st.number_input("Files of a copy at most", 1, 1_000_000, 20_000, key=f"{key}-files"),
    }


def _read(agent: str, folder: str, check: str, values: Mapping[str, Any]) -> AgentTaskParams | None:
    """Return the checked parameters; show why they cannot be used."""
    try:
        commands = {"agent": shlex.split(agent), "check": shlex.split(check), "version": shlex.split(values["version"])}
        variables = dict(_variable(line) for line in values["env"].splitlines() if line.strip())
        return AgentTaskParams.model_validate({**values, **commands, "env": variables, "folder": folder})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = f"{first['loc'][0]}: " if first["loc"] else ""
        st.error(markdown_text(f"{place}{first['msg'].removeprefix('Value error, ')}."))
    except ValueError as error:
        st.error(markdown_text(f"A command or a variable cannot be read: {error}."))
    return None


def _variable(line: str) -> tuple[str, str]:
    name, separator, value = line.partition("=")
    if not separator:
        raise ValueError(f"{line.strip()!r} is not NAME=value")
    return name.strip(), value


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
