"""How the loads of a run ended and what became of the files that a driven tool left, followed on the run's page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import streamlit as st

from collectors.imports.inbox import inbox_folder
from domain import Run
from samples import REFUSED
from storage.ask import queries
from storage.ask.queries import EventRow
from studies.hand_in import awaits_results
from web.context import services
from web.fleet import asked_about
from web.markup import markdown_text
from web.moments import moment
from web.sharing.share_dialog import is_sharing

LOOK_S = 2.0
MOST_SHOWN = 3
ON_THE_WAY = "What the tool left is being taken in."


def load_ends(run: Run) -> list[EventRow]:
    """The newest first; followed while there may be more, since a short load ends between two looks at its state."""
    events = queries.load_events(asked_about([run]), run.id)
    if not run.state.is_final or _awaits_results(run.id):
        st.fragment(_follow, run_every=LOOK_S)(run, _newest(events))
    return events


def _awaits_results(run_id: str) -> bool:
    return awaits_results(inbox_folder(services().settings.data_dir), {run_id})


def _newest(events: Sequence[EventRow]) -> datetime | None:
    return events[0].ts if events else None


def _follow(run: Run, drawn: datetime | None) -> None:
    """`drawn`: the newest that the page shows."""
    if _awaits_results(run.id):
        st.caption(ON_THE_WAY)
    elif _newest(queries.load_events(asked_about([run]), run.id)) != drawn and not is_sharing():
        st.rerun()


def refused_results(events: Sequence[EventRow]) -> None:
    """Which files were not taken in, and why."""
    for event in [event for event in events if event.kind == REFUSED][:MOST_SHOWN]:
        st.error(f"{moment(event.ts)}: {markdown_text(event.text)}", icon=":material/block:")
