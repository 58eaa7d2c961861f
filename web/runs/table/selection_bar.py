"""The bar at the bottom of the window with the actions on all ticked runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

import streamlit as st
from pydantic import ValidationError

from analysis.note_changes import refusal_text
from domain import Run
from notes import RunNote
from storage.queries.run_data import Queryable
from storage.queries.run_queries import runs_of
from web import page_paths
from web.actions import Once, is_editor
from web.context import services
from web.markup import markdown_text
from web.run_notes.annotate import annotate
from web.runs.delete_runs import delete_button
from web.runs.table.run_listing import choices_of, notes_on
from web.runs.table.ticked_runs import clear_ticks, set_ticked, ticked_ids
from web.runs.undo_notice import offer_undo


def selection_bar(scope: Queryable, listed_ids: Collection[str]) -> None:
    """Show the bar while a run is ticked. scope: the store that the page lists; listed_ids: the runs it shows."""
    ids = ticked_ids()
    ticked_runs = sorted(runs_of(scope, sorted(ids)), key=lambda run: run.start_order, reverse=True) if ids else []
    if not ticked_runs:
        return
    with st.container(key="floating-selection", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(_count_text(ticked_runs, listed_ids), width="content")
        bulk_actions(ticked_runs, notes_on(ticked_runs))
        st.button("Clear", key="clear-selection", icon=":material/close:", type="tertiary", on_click=clear_ticks)


def _count_text(ticked_runs: Sequence[Run], listed_ids: Collection[str]) -> str:
    """'**3 selected**, 1 not listed': what a filter hides is acted on too."""
    hidden = sum(run.id not in listed_ids for run in ticked_runs)
    return f"**{len(ticked_runs):,} selected**" + (f", {hidden:,} not listed" if hidden else "")


def bulk_actions(selected: Sequence[Run], note_by_run: Mapping[str, RunNote]) -> None:
    """Show links and buttons that act on all selected runs, newest first. note_by_run: run id -> its note."""
    ids = [run.id for run in selected]
    hint = None if len(ids) > 1 else "Tick two runs or more."
    # Links rather than buttons, so that one Back step returns to the list as it was.
    st.page_link(page_paths.COMPARE, label="Compare", query_params={"run": ids[::-1]}, disabled=bool(hint), help=hint)
    st.page_link(page_paths.LIVE, label="Overlay on Live", query_params={"run": ids})
    if not is_editor():
        return
    local_runs = services().store.runs_of(ids)
    notes = [note_by_run[run.id] for run in local_runs]
    is_starred = _all_have("is_starred", notes)
    label = "Remove stars" if is_starred else "Star"
    st.button(label, disabled=not notes, key="bulk-star", on_click=Once(_set_stars), args=(notes, not is_starred))
    with st.popover("Tag", disabled=not notes, key="bulk-tag"):
        _tags(notes)
    is_archived = _all_have("is_archived", notes)
    label, args = "Unarchive" if is_archived else "Archive", (notes, not is_archived)
    st.button(label, disabled=not notes, key="bulk-archive", on_click=Once(_set_archived), args=args)
    delete_button(local_runs, "selected")
    if len(local_runs) < len(ids):
        st.caption("Star, archive, tag and delete runs of other machines on their own Pitwall.")


def _all_have(field: str, notes: Sequence[RunNote]) -> bool:
    return bool(notes) and all(getattr(note, field) for note in notes)


def _set_stars(notes: Sequence[RunNote], is_starred: bool) -> None:
    _set([note.run_id for note in notes], "is_starred", is_starred)


def _set_archived(notes: Sequence[RunNote], is_archived: bool) -> None:
    """Archive the runs or take them out of the archive, without their ticks, and offer the way back."""
    changed_ids = [note.run_id for note in notes if note.is_archived != is_archived]
    _set(changed_ids, "is_archived", is_archived)
    set_ticked(changed_ids, False)
    verb = "archived" if is_archived else "taken out of the archive"
    runs_text = f"{len(changed_ids):,} run{'s' * (len(changed_ids) != 1)}"
    offer_undo(f"{runs_text} {verb}.", partial(_set, changed_ids, "is_archived", not is_archived))


def _set(run_ids: Sequence[str], field: str, value: bool) -> None:
    annotate(run_ids, lambda note: note.model_copy(update={field: value}))


def _tags(notes: Sequence[RunNote]) -> None:
    """A form that adds tags to all selected runs or removes them."""
    known_tags = choices_of(services().store).tags
    with st.form("bulk-tags", border=False):
        tags = st.multiselect("Tags", known_tags, accept_new_options=True, placeholder="choose, or type a new one")
        with st.container(horizontal=True):
            add, remove = st.form_submit_button("Add", type="primary"), st.form_submit_button("Remove")
    if not tags or not (add or remove):
        return
    try:
        annotate([note.run_id for note in notes], lambda note: _with_tags(note, tags, add))
    except ValidationError as error:
        st.error(markdown_text(refusal_text(error)))
        return
    st.rerun()


def _with_tags(note: RunNote, tags: Sequence[str], is_added: bool) -> RunNote:
    remaining = [tag for tag in note.tags if tag not in tags]
    new_tags = dict.fromkeys([*note.tags, *tags]) if is_added else remaining
    return note.model_copy(update={"tags": tuple(new_tags)})
