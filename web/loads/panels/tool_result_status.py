"""Follows on a run's page how its loads ended, and shows whether files were imported and what of them was not read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import streamlit as st

from collectors.imports.inbox import inbox_folder
from domain import Run
from samples import REFUSED
from storage.queries import run_data
from storage.queries.run_data import LoadEvent
from studies.submissions import awaits_results
from web.context import services
from web.fleet import store_for_runs
from web.markup import markdown_text
from web.sharing.share_dialog import is_sharing
from web.times import format_time
from web.url_state import url_expander

LOOK_S = 2.0
MOST_SHOWN = 3
ON_THE_WAY = "The tool's results are being imported."


def load_ends(run: Run) -> list[LoadEvent]:
    """Return load events, newest first; the page follows them, since a short load can end between two state checks."""
    events = run_data.load_events(store_for_runs([run]), run.id)
    if not run.state.is_final or _awaits_results(run.id):
        st.fragment(_follow, run_every=LOOK_S)(run, _newest(events))
    return events


def _awaits_results(run_id: str) -> bool:
    return awaits_results(inbox_folder(services().settings.data_dir), {run_id})


def _newest(events: Sequence[LoadEvent]) -> datetime | None:
    return events[0].ts if events else None


def _follow(run: Run, shown_at: datetime | None) -> None:
    """Rerun the page if there is a newer event than `shown_at`, the newest that it shows."""
    if _awaits_results(run.id):
        st.caption(ON_THE_WAY)
    elif _newest(run_data.load_events(store_for_runs([run]), run.id)) != shown_at and not is_sharing():
        st.rerun()


def show_refused_results(events: Sequence[LoadEvent]) -> None:
    """Show the files that were refused, and why."""
    for event in [event for event in events if event.kind == REFUSED][:MOST_SHOWN]:
        st.error(f"{format_time(event.ts)}: {markdown_text(event.text)}", icon=":material/block:")


def show_import_notes(events: Sequence[LoadEvent]) -> None:
    """Show, folded, the notes on what was imported: what was assumed, left out and not read."""
    notes = list(dict.fromkeys(note for event in events for note in event.notes))
    if notes:
        with url_expander("Notes on the import", "import-notes", "run"):
            st.markdown("\n".join(f"- {markdown_text(note)}" for note in notes))
