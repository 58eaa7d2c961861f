"""The hint on the Run page on how to collect samples from the machine of a run that was started over ssh."""

from __future__ import annotations

import streamlit as st

from domain import Run
from launcher.remote.agent_line import agent_line, find_server_pid
from launcher.remote.hosts import HostBook, HostError
from machine.identity import machine_id
from storage.queries import run_data
from storage.queries.node_queries import nodes
from web.actions import is_operator
from web.context import services


def agent_offer(run: Run) -> None:
    """Show the operator a shell command while the run is live and no agent has sent anything."""
    if not (run.on_host and run.state.is_live and is_operator()) or run.machine_id == machine_id():
        return
    store, settings = services().store, services().settings
    if nodes(store, [run.id]):
        return
    try:
        host = HostBook(settings.hosts_path).find(run.on_host)
    except HostError:  # the host was removed
        return
    texts = [row.text for row in run_data.events(store, run.id).rows]
    st.caption(
        "This run's GPUs and CPU are not sampled, because its server is on another machine. Run this command in "
        "Pitwall's folder on Pitwall's machine to start an agent there, which ends with the run:"
    )
    st.code(agent_line(host, run.id, settings.url, find_server_pid(texts)), language="shell", wrap_lines=True)
