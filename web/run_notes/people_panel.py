"""People's notes on one run, and the forms to edit them."""

from __future__ import annotations

from typing import Any

import streamlit as st
from pydantic import ValidationError

from analysis.note_changes import RATING_TITLES, refusal_text
from domain import Run
from notes import RunNote
from storage.queries.note_queries import note_versions, notes
from storage.queries.run_queries import run_choices
from web import markup
from web.actions import Once, is_editor
from web.context import services
from web.markup import markdown_text
from web.run_notes.annotate import annotate, set_star
from web.safe_markdown import safe_html
from web.times import TimeToHtml, time_html

SCALE = (1, 2, 3, 4, 5)


def people_panel(run: Run) -> None:
    """Show the newest note, tags and verdict, and the editors' buttons."""
    note = notes(services().store, [run.id])[run.id]
    if is_editor() and services().store.run(run.id):  # a run of another machine is annotated there
        with st.container(horizontal=True, vertical_alignment="center", key="people-buttons"):
            _star(run, note)
            if st.button("Notes, tags and verdict", icon=":material/edit_note:", key="edit-notes"):
                _edit(run, note)
            if note.version > 1 and st.button("Earlier versions", type="tertiary", key="note-versions"):
                _versions(run)
    if note_section := note_html(note):
        st.html(note_section)


def note_html(note: RunNote, write_time: TimeToHtml = time_html) -> str:
    """Return a note as markup; '' if it is empty. write_time: formats a time."""
    marks = ["archived"] if note.is_archived else []
    parts = [markup.chips([*marks, *(f"#{tag}" for tag in note.tags)]), _verdict_html(note)]
    parts.append(f'<div class="pw-note">{safe_html(note.text)}</div>' if note.text else "")
    if not any(parts):
        return ""
    writer = "the operator" if note.role == "operator" else markup.text(note.role)
    author = f'<p class="pw-muted">Written by {writer}, {_written_at(note, write_time)}</p>'
    return f'<section class="pw-people" aria-label="Notes from people">{"".join(parts)}{author}</section>'


def _verdict_html(note: RunNote) -> str:
    ratings = [
        f"{title} <b>{rating}</b>/5"
        for name, title in RATING_TITLES.items()
        if (rating := getattr(note, name)) is not None
    ]
    parts = [*ratings, *([f"“{markup.text(note.impression)}”"] if note.impression else [])]
    title_html = markup.hint("A person's verdict", "1 is poor, 5 is excellent; one person's opinion, not a measurement")
    return f"<p>{title_html}: {' · '.join(parts)}</p>" if parts else ""


def _written_at(note: RunNote, write_time: TimeToHtml) -> str:
    return "at an unknown time" if note.written_at is None else write_time(note.written_at)


def _star(run: Run, note: RunNote) -> None:
    st.button(
        "\u2605 Starred" if note.is_starred else "\u2606 Star",
        key="star-run",
        on_click=Once(set_star),
        args=(run, not note.is_starred),
        help="The retention rule never deletes a starred run, and Runs can show only starred ones.",
    )


@st.dialog("Notes, tags and verdict", width="medium")
def _edit(run: Run, note: RunNote) -> None:
    edit_form(run, note)


def edit_form(run: Run, note: RunNote) -> None:
    """The form of a run's note, saved as one version."""
    with st.form("people", border=False):
        fields = _read_fields(run, note)
        pressed = st.form_submit_button("Save", type="primary")
    if not pressed:
        return
    try:
        annotate([run.id], lambda current: current.model_copy(update=_with_changed_name(run, current, fields)))
    except ValidationError as error:
        st.error(markdown_text(refusal_text(error)))
        return
    st.rerun()


def _read_fields(run: Run, note: RunNote) -> dict[str, Any]:
    """Show the form's widgets with the current note; return field name -> value."""
    tags = dict.fromkeys([*note.tags, *run_choices(services().store).tags])
    fields: dict[str, Any] = {"name": st.text_input("Name of the run", run.name, max_chars=120).strip()}
    fields["tags"] = tuple(
        st.multiselect(
            "Tags", list(tags), list(note.tags), accept_new_options=True, placeholder="choose, or type a new one"
        )
    )
    fields["text"] = st.text_area(
        "Note", note.text, height=180, max_chars=20_000, help="Markdown. HTML and images are shown as text."
    ).strip()
    st.caption("Your own verdict in addition to the numbers: 1 is poor, 5 is excellent.")
    with st.container(horizontal=True):
        for name, title in RATING_TITLES.items():
            fields[name] = st.segmented_control(
                title, SCALE, default=getattr(note, name), key=f"rate-{name}-{note.version}"
            )
    fields["impression"] = st.text_input("In one sentence", note.impression, max_chars=300).strip()
    fields["is_archived"] = st.checkbox("Archived: hidden on Runs unless asked for", note.is_archived)
    return fields


def _with_changed_name(run: Run, note: RunNote, fields: dict[str, Any]) -> dict[str, Any]:
    """Drop the name if it is the run's own."""
    name = fields["name"]
    return fields | {"name": note.name if name in ("", run.name) else name}


@st.dialog("Earlier versions", width="large")
def _versions(run: Run) -> None:
    for note in reversed(note_versions(services().store, [run.id])):
        name = f"named {markup.text(note.name)}" if note.name else ""
        st.html(f"<p><b>Version {note.version}</b> {name}</p>{note_html(note) or '<p>Empty.</p>'}")
