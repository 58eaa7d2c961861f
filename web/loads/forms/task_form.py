"""The form of an agent's task, for the operator alone: it runs what is typed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import streamlit as st
from pydantic import ValidationError

from domain import JsonValue
from web.markup import markdown_text
from workloads.agent_tasks.task_params import AgentTaskParams

ABOUT = (
    "The agent runs with your rights in a fresh copy of the folder, without a sandbox. It reaches this server through "
    "a recorder by ANTHROPIC_BASE_URL, OPENAI_BASE_URL and their keys. The task is solved if the check exits with 0."
)
PLACES = "{base_url}, {key}, {model} and {folder} are replaced. No shell reads the command: it is split as one would."
AGENT_EXAMPLE = "claude -p 'Do what TASK.md says' --model {model}"
VARIABLES_HELP = "NAME=value, one per line. Their values are stored: write {key} for the key."
PASSED_HELP = "Names of environment variables with secrets that the agent may have, separated by spaces."


def choose_task(proposed: Mapping[str, JsonValue], key: str) -> AgentTaskParams | None:
    """Show the form, initially with the task that is proposed; return the task, or None while it is incomplete."""
    st.caption(ABOUT)
    task = _read_proposed(proposed)
    agent = st.text_input(
        "Agent", shlex.join(task.agent) if task else "", key=f"{key}-agent", placeholder=AGENT_EXAMPLE, help=PLACES
    )
    folder = st.text_input(
        "Folder on this machine", task.folder if task else "", key=f"{key}-folder", placeholder="/home/me/tasks/parser"
    )
    check = st.text_input(
        "Check",
        shlex.join(task.check) if task else "",
        key=f"{key}-check",
        placeholder="python -m pytest -q",
        help=PLACES,
    )
    settings = task or AgentTaskParams.model_construct()
    repeats_column, limit_column, check_column = st.columns(3)
    limits = (1.0, 86_400.0)
    values: dict[str, Any] = {
        "repeats": repeats_column.number_input("Repeats of the task", 1, 100, settings.repeats, key=f"{key}-repeats"),
        "time_limit_s": limit_column.number_input(
            "Time limit, s", *limits, settings.time_limit_s, format="%g", key=f"{key}-limit"
        ),
        "check_limit_s": check_column.number_input(
            "Limit of the check, s", *limits, settings.check_limit_s, format="%g", key=f"{key}-late"
        ),
    }
    with st.expander("Name, version, variables, limits of the copies"):
        values |= _more_values(settings, key)
    if not (agent and folder and check):
        st.caption("Enter an agent, a folder and a check.")
        return None
    return _read(agent, folder, check, {**values, "output_kib": settings.output_kib})


def _read_proposed(proposed: Mapping[str, JsonValue]) -> AgentTaskParams | None:
    """Return the proposed task; None if there is none, or if it is incomplete."""
    try:
        return AgentTaskParams.model_validate(dict(proposed))
    except ValidationError:
        return None


def _more_values(settings: AgentTaskParams, key: str) -> dict[str, Any]:
    """Show the inputs that a task can do without, and return their values."""
    variables = "\n".join(f"{name}={value}" for name, value in settings.env.items())
    version, passed = shlex.join(settings.version), " ".join(settings.pass_env)
    return {
        "task": st.text_input("Name of the task", settings.task, key=f"{key}-name", placeholder="that of the folder"),
        "version": st.text_input("Command that prints the agent's version", version, key=f"{key}-version"),
        "env": st.text_area("Variables", variables, key=f"{key}-env", help=VARIABLES_HELP),
        "pass_env": st.text_input("Secrets to pass on", passed, key=f"{key}-pass", help=PASSED_HELP).split(),
        "copy_mib": st.number_input("Size of a copy at most, MiB", 1, 65_536, settings.copy_mib, key=f"{key}-mib"),
        "copy_files": st.number_input("Files of a copy at most", 1, 1_000_000, settings.copy_files, key=f"{key}-files"),
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
