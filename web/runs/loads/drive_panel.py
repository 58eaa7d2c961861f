"""Drive another benchmark tool against a run's server: its command shown, then run, its results taken in."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

import streamlit as st
from pydantic import ValidationError

from domain import Run, RunState, WorkloadSpec
from launcher.checks.preflight import LaunchRefusedError
from web import audit
from web.actions import require_operator
from web.context import services
from web.launch.loads.load_params import field_input, sentence_of
from web.markup import markdown_text
from web.runs.loads.server_key import ask_key
from workloads.process.drive_job import DriveJob, DriveParams
from workloads.process.driven import TOOLS, commands_of

NOWHERE = Path("/LOAD")
NO_KEY = "Pitwall gives this tool no key: on its command line everybody on this machine could read it."


def drive_panel(run: Run) -> None:
    """A tool, its settings, its exact command, and the button."""
    name = st.selectbox("Tool", list(TOOLS), format_func=lambda one: TOOLS[one].title, key=f"tool-{run.id}")
    tool = TOOLS[name]
    found = (shutil.which(tool.executable) if tool.executable else None) or ""
    executable = st.text_input(
        "Its executable on this machine", found, key=f"executable-{name}", placeholder="/path/to/it"
    )
    fields = DriveParams.model_fields
    given = {
        one: field_input(one, fields[one], fields[one].get_default(), f"drive-{name}-{one}") for one in tool.fields
    }
    more = st.text_input("Further words of its command", key=f"drive-more-{name}")
    try:
        params = DriveParams.model_validate({"executable": executable, **given, "more": shlex.split(more)})
    except ValidationError as error:
        st.caption(markdown_text(sentence_of(error)))
        return
    except ValueError as error:
        st.error(markdown_text(f"The further words cannot be told apart: {error}."))
        return
    job = DriveJob(
        run_id=run.id, base_url=run.base_url or "", model=run.config.served_model_name or "MODEL", tool=name,
        params=params, folder=NOWHERE, progress=NOWHERE, inbox=NOWHERE,
    )  # fmt: skip
    st.code("\n".join(map(shlex.join, commands_of(job))), language="bash", wrap_lines=True)
    st.caption(f"{tool.title} {tool.version} was driven to its end where Pitwall was built.")
    if tool.needs:
        st.caption(markdown_text(tool.needs))
    secrets = ask_key(run, f"drive-key-{run.id}") if tool.takes_key else {}
    if run.kind == "attached" and not tool.takes_key:
        st.caption(NO_KEY)
    if st.button("Run it", key=f"drive-{run.id}", disabled=run.state is not RunState.READY):
        _drive(run, WorkloadSpec(name=tool.workload, params=params.model_dump(mode="json")), secrets)


def _drive(run: Run, spec: WorkloadSpec, secrets: Mapping[str, str]) -> None:
    require_operator()
    try:
        services().supervisor.start_load(run.id, spec, secrets)
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return
    audit.record("load", [run.id], spec.name)
    st.rerun()
