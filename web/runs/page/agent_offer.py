"""The part of the Run page that says how samples come from the machine of a run that ssh started."""

from __future__ import annotations

import streamlit as st

from domain import Run
from launcher.remote.agent_line import agent_line, server_pid
from launcher.remote.hosts import HostBook, HostError
from machine.identity import machine_id
from storage.ask import queries
from storage.ask.node_queries import nodes
from web.actions import is_operator
from web.context import services


def agent_offer(run: Run) -> None:
    """A line for a shell while the run is live and no agent has sent anything; for the operator."""
    if not (run.on_host and run.state.is_live and is_operator()) or run.machine_id == machine_id():
        return
    store, settings = services().store, services().settings
    if nodes(store, [run.id]):
        return
    try:
        host = HostBook(settings.hosts_path).host(run.on_host)
    except HostError:  # it was removed: there is no way in any more
        return
    texts = [row.text for row in queries.events(store, run.id).rows]
    st.caption(
        "No sample of this run's GPUs and CPU comes: its server is on another machine. This line, in a shell on "
        "Pitwall's machine and in its folder, starts an agent there, which ends with the run:"
    )
    st.code(agent_line(host, run.id, settings.url, server_pid(texts)), language="shell", wrap_lines=True)
