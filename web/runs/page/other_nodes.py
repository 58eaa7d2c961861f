"""The part of the Run page with the commands for a server's other machines."""

from __future__ import annotations

import streamlit as st

from commands.write import shell_text
from domain import Run, RunState
from engines import BY_NAME


def other_nodes(run: Run) -> None:
    """Show the command for each further machine that the run's command needs; nothing once it has finished."""
    engine = BY_NAME.get(run.config.engine)
    if engine is None or engine.node_commands is None or run.state is RunState.FINISHED:
        return
    for place, argv in engine.node_commands(run.config.argv):
        st.caption(f"This server may span several machines; Pitwall starts only this one. Run this {place}:")
        st.code(shell_text(argv), language="shell", wrap_lines=True)
