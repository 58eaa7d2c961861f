"""Start of a load on a run's server, for the panels that offer one."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from domain import Run, WorkloadSpec
from launcher.checks.launch_request import LaunchRefusedError
from web import audit
from web.context import services
from web.markup import markdown_text


def start_load(run: Run, spec: WorkloadSpec, secrets: Mapping[str, str]) -> None:
    """Start the load with an audit entry and redraw the page, or show why it is refused; the caller checks the role."""
    try:
        services().supervisor.start_load(run.id, spec, secrets)
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return
    audit.record("load", [run.id], spec.name)
    st.rerun()
