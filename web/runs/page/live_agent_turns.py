"""The section 'Agent sessions' of Live: the newest turns of runs whose requests are being recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from domain import Run
from launcher.runs.supervised_runs.run_recorders import is_recorder_open
from reports.runs.agent_sessions import agent_sessions
from reports.runs.prices import prices_of
from web.context import services
from web.fleet import store_for_runs
from web.markup import markdown_text
from web.runs.page.agent_sessions import newest_turns_html
from web.url_state import open_section

REFRESH_S = 5.0
NEWEST_TURNS = 12  # per run; Run has all


def show_live_agent_turns(runs: Sequence[Run]) -> None:
    """Show a folded section if a recorder is open in front of one of these runs."""
    recorded = [run for run in runs if run.state.is_live and run.run_dir and is_recorder_open(Path(run.run_dir))]
    if not recorded:
        return
    if section := open_section("Agent sessions", "agents", "live"):
        with section:
            _show_newest_turns(recorded)


@st.fragment(run_every=REFRESH_S)
def _show_newest_turns(runs: Sequence[Run]) -> None:
    for run in runs:
        if len(runs) > 1:
            st.markdown(f"**{markdown_text(run.name)}**")
        prices = prices_of(services().settings.prices_path, run.machine_id)
        sessions = agent_sessions(store_for_runs([run]), run, prices)
        if sessions.turns:
            st.html(f'<div class="pw-agent-sessions">{newest_turns_html(sessions, NEWEST_TURNS)}</div>')
        else:
            st.caption("No request has been recorded yet.")
