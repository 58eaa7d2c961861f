"""Actions on the runs that are selected in the table of Runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st
from pydantic import ValidationError

from analysis.note_changes import refusal_text
from domain import Run
from notes import RunNote
from web import page_paths
from web.actions import Once, is_editor
from web.context import services
from web.markup import markdown_text
from web.run_notes.annotate import annotate
from web.runs.delete_runs import delete_button
from web.runs.table.run_listing import choices_of


def bulk_actions(selected: Sequence[Run], note_by_run: Mapping[str, RunNote], key: str) -> None:
    """Show buttons that act on all selected runs. note_by_run: run id -> its note; key: that of the table."""
    ids = [run.id for run in selected]
    _link(page_paths.RUN, "Open", ids, min_runs=1, max_runs=1)
    _link(page_paths.COMPARE, "Compare the selected runs", ids[::-1], min_runs=2)
    _link(page_paths.LIVE, "Overlay on Live", ids, min_runs=1)
    if not is_editor():
        return
    local_runs = services().store.runs_of(ids)
    notes = [note_by_run[run.id] for run in local_runs]
    _switch("is_starred", ("Star", "Remove stars"), notes, key)
    _switch("is_archived", ("Archive", "Unarchive"), notes, key)
    with st.popover("Tag", disabled=not notes, key=f"bulk-tag-{key}"):
        _tags(notes, key)
    delete_button(local_runs, f"chosen-{key}")
    if len(local_runs) < len(ids):
        st.caption("Star, archive, tag and delete runs of other machines on their own Pitwall.")


def _link(page: str, label: str, run_ids: Sequence[str], min_runs: int, max_runs: int | None = None) -> None:
    """A link rather than a button, so that one Back step returns to the list as it was."""
    is_off = not min_runs <= len(run_ids) <= (max_runs or len(run_ids))
    hint = f"Tick {'two runs' if min_runs == 2 else 'one run'}{'' if max_runs else ' or more'}." if is_off else None
    st.page_link(page, label=label, query_params={"run": list(run_ids)}, disabled=is_off, help=hint)


def _switch(field: str, labels: tuple[str, str], notes: Sequence[RunNote], key: str) -> None:
    """One button that sets the mark on all, or removes it if all have it."""
    is_set = bool(notes) and all(getattr(note, field) for note in notes)
    ids = [note.run_id for note in notes]
    label, args = labels[is_set], (ids, field, not is_set)
    st.button(label, disabled=not ids, key=f"bulk-{field}-{key}", on_click=Once(_set), args=args)


def _set(run_ids: Sequence[str], field: str, value: bool) -> None:
    annotate(run_ids, lambda note: note.model_copy(update={field: value}))


def _tags(notes: Sequence[RunNote], key: str) -> None:
    """A form that adds tags to all selected runs or removes them."""
    known_tags = choices_of(services().store).tags
    with st.form(f"bulk-tags-{key}", border=False):
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
