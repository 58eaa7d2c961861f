"""The panel that runs another benchmark tool against a run's server, with its command shown and results imported."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

import streamlit as st
from pydantic import ValidationError

from domain import Run, RunState, WorkloadSpec
from web.actions import require_operator
from web.loads.forms.load_params import error_sentence, field_input
from web.loads.panels.server_key import ask_key
from web.loads.panels.start_load import start_load
from web.markup import markdown_text
from workloads.process.drive_job import DriveJob, DriveParams
from workloads.process.external_tools import TOOLS, commands_of

PLACEHOLDER = Path("/LOAD")
NO_KEY = "Pitwall passes no API key to this tool: everyone on this machine could read it on the command line."


def show_drive_panel(run: Run) -> None:
    """Show the choice of a tool, its settings, its exact command and the button that runs it."""
    name = st.selectbox("Tool", list(TOOLS), format_func=lambda tool_name: TOOLS[tool_name].title, key=f"tool-{run.id}")
    tool = TOOLS[name]
    default_path = (shutil.which(tool.executable) if tool.executable else None) or ""
    executable = st.text_input(
        "Executable on this machine", default_path, key=f"executable-{name}", placeholder="/path/to/it"
    )
    fields = DriveParams.model_fields
    values = {
        field: field_input(field, fields[field], fields[field].get_default(), f"drive-{name}-{field}")
        for field in tool.fields
    }
    more = st.text_input("Additional arguments", key=f"drive-more-{name}")
    if not executable:
        st.caption(f"Enter the path of {tool.title}: it was not found on this machine.")
        return
    try:
        params = DriveParams.model_validate({"executable": executable, **values, "more": shlex.split(more)})
    except ValidationError as error:
        st.caption(markdown_text(error_sentence(error)))
        return
    except ValueError as error:
        st.error(markdown_text(f"The additional arguments cannot be parsed: {error}."))
        return
    job = DriveJob(
        run_id=run.id, base_url=run.base_url or "", model=run.config.served_model_name or "MODEL", tool=name,
        params=params, folder=PLACEHOLDER, progress=PLACEHOLDER, inbox=PLACEHOLDER,
    )  # fmt: skip
    st.code("\n".join(map(shlex.join, commands_of(job))), language="bash", wrap_lines=True)
    st.caption(f"Pitwall was tested with a complete run of {tool.title} {tool.version}.")
    if tool.notes:
        st.caption(markdown_text(tool.notes))
    secrets = ask_key(run, f"drive-key-{run.id}") if tool.takes_key else {}
    if run.kind == "attached" and not tool.takes_key:
        st.caption(NO_KEY)
    if st.button("Run it", key=f"drive-{run.id}", disabled=run.state is not RunState.READY):
        _drive(run, WorkloadSpec(name=tool.workload, params=params.model_dump(mode="json")), secrets)


def _drive(run: Run, spec: WorkloadSpec, secrets: Mapping[str, str]) -> None:
    require_operator()
    start_load(run, spec, secrets)
