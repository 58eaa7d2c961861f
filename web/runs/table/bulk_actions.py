"""What can be done with the runs that are chosen in the table of Runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st
from pydantic import ValidationError

from analysis.note_changes import refusal
from domain import Run
from notes import RunNote
from web import places
from web.actions import Once, is_editor
from web.context import services
from web.markup import markdown_text
from web.runs.remarks.annotate import annotate
from web.runs.table.delete_runs import delete_button
from web.runs.table.run_listing import choices_of


def bulk_actions(chosen: Sequence[Run], said: Mapping[str, RunNote], key: str) -> None:
    """Buttons that act on all of the chosen runs; `said` has what is said of each now, `key` is that of their table."""
    ids = [run.id for run in chosen]
    _link(places.RUN, "Open", ids, fewest=1, most=1)
    _link(places.COMPARE, "Compare the selected runs", ids[::-1], fewest=2)
    _link(places.LIVE, "Overlay on Live", ids, fewest=1)
    if not is_editor():
        return
    ours = services().store.runs_of(ids)
    notes = [said[run.id] for run in ours]
    _switch("is_starred", ("Star", "Remove stars"), notes, key)
    _switch("is_archived", ("Archive", "Unarchive"), notes, key)
    with st.popover("Tag", disabled=not notes, key=f"bulk-tag-{key}"):
        _tags(notes, key)
    delete_button(ours, f"chosen-{key}")
    if len(ours) < len(ids):
        st.caption("Runs of other machines are starred, archived, tagged and deleted there.")


def _link(page: str, label: str, run_ids: Sequence[str], fewest: int, most: int | None = None) -> None:
    """A link, not a button: one step of the browser's Back leads to the list as it was."""
    is_off = not fewest <= len(run_ids) <= (most or len(run_ids))
    words = f"Tick {'two runs' if fewest == 2 else 'one run'}{'' if most else ' or more'}." if is_off else None
    st.page_link(page, label=label, query_params={"run": list(run_ids)}, disabled=is_off, help=words)


def _switch(field: str, words: tuple[str, str], notes: Sequence[RunNote], key: str) -> None:
    """One button: sets the mark on all, or takes it away where all have it."""
    is_set = bool(notes) and all(getattr(note, field) for note in notes)
    ids = [note.run_id for note in notes]
    word, args = words[is_set], (ids, field, not is_set)
    st.button(word, disabled=not ids, key=f"bulk-{field}-{key}", on_click=Once(_set), args=args)


def _set(run_ids: Sequence[str], field: str, value: bool) -> None:
    annotate(run_ids, lambda note: note.model_copy(update={field: value}))


def _tags(notes: Sequence[RunNote], key: str) -> None:
    """Tags to add to all of the chosen runs or to take away from them."""
    known = choices_of(services().store).tags
    with st.form(f"bulk-tags-{key}", border=False):
        tags = st.multiselect("Tags", known, accept_new_options=True, placeholder="choose, or type a new one")
        with st.container(horizontal=True):
            add, remove = st.form_submit_button("Add", type="primary"), st.form_submit_button("Remove")
    if not tags or not (add or remove):
        return
    try:
        annotate([note.run_id for note in notes], lambda note: _tagged(note, tags, add))
    except ValidationError as error:
        st.error(markdown_text(refusal(error)))
        return
    st.rerun()


def _tagged(note: RunNote, tags: Sequence[str], is_added: bool) -> RunNote:
    kept = [tag for tag in note.tags if tag not in tags]
    new = dict.fromkeys([*note.tags, *tags]) if is_added else kept
    return note.model_copy(update={"tags": tuple(new)})
