"""What people say of one run, and for the operator the way to say it."""

from __future__ import annotations

from typing import Any

import streamlit as st
from pydantic import ValidationError

from analysis.note_changes import RATED, refusal
from domain import Run
from notes import RunNote
from storage.ask.note_queries import note_versions, notes
from storage.ask.run_queries import run_choices
from web import markup
from web.actions import Once, is_editor
from web.context import services
from web.markup import markdown_text
from web.moments import WriteMoment, moment_html
from web.runs.remarks.annotate import annotate, set_star
from web.runs.remarks.gotcha_panel import gotcha_button
from web.runs.table.delete_runs import delete_button
from web.safe_markdown import safe_html

SCALE = (1, 2, 3, 4, 5)


def people_panel(run: Run) -> None:
    """The note, the tags and the verdict of a person, the newest version; the operator's buttons beside them."""
    note = notes(services().store, [run.id])[run.id]
    if is_editor() and services().store.run(run.id):  # what is said of a run of another machine is said there
        with st.container(horizontal=True, vertical_alignment="center", key="people-buttons"):
            _star(run, note)
            if st.button("Notes, tags and verdict", icon=":material/edit_note:", key="edit-notes"):
                _edit(run, note)
            if note.version > 1 and st.button("Earlier versions", type="tertiary", key="note-versions"):
                _versions(run)
            gotcha_button(run)
            if run.state.is_final:
                delete_button([run], "run", is_their_page=True)
    if words := said(note):
        st.html(words)


def said(note: RunNote, write: WriteMoment = moment_html) -> str:
    """What a note says as HTML; '' where it says nothing. `write`: how a moment is written."""
    marks = ["archived"] if note.is_archived else []
    parts = [markup.chips([*marks, *(f"#{tag}" for tag in note.tags)]), _verdict(note)]
    parts.append(f'<div class="pw-note">{safe_html(note.text)}</div>' if note.text else "")
    if not any(parts):
        return ""
    writer = "the operator" if note.role == "operator" else markup.text(note.role)
    who = f'<p class="pw-muted">Written by {writer}, {_when(note, write)}</p>'
    return f'<section class="pw-people" aria-label="What people say of it">{"".join(parts)}{who}</section>'


def _verdict(note: RunNote) -> str:
    rated = [f"{title} <b>{given}</b>/5" for name, title in RATED.items() if (given := getattr(note, name)) is not None]
    words = [*rated, *([f"“{markup.text(note.impression)}”"] if note.impression else [])]
    head = markup.hint("A person's verdict", "1 is poor, 5 is excellent; one person's word, not a measurement")
    return f"<p>{head}: {' · '.join(words)}</p>" if words else ""


def _when(note: RunNote, write: WriteMoment) -> str:
    return "at an unknown time" if note.written_at is None else write(note.written_at)


def _star(run: Run, note: RunNote) -> None:
    st.button(
        "\u2605 Starred" if note.is_starred else "\u2606 Star",
        key="star-run",
        on_click=Once(set_star),
        args=(run, not note.is_starred),
        help="A star keeps a run from being deleted by a retention rule, and Runs can show the starred ones alone.",
    )


@st.dialog("Notes, tags and verdict", width="medium")
def _edit(run: Run, note: RunNote) -> None:
    edit_form(run, note)


def edit_form(run: Run, note: RunNote) -> None:
    """All that a person may say of a run, saved together as one version."""
    with st.form("people", border=False):
        given = _fields(run, note)
        pressed = st.form_submit_button("Save", type="primary")
    if not pressed:
        return
    try:
        annotate([run.id], lambda now: now.model_copy(update=_kept_name(run, now, given)))
    except ValidationError as error:
        st.error(markdown_text(refusal(error)))
        return
    st.rerun()


def _fields(run: Run, note: RunNote) -> dict[str, Any]:
    """The form's widgets with what is said now; what they hold, by the field's name."""
    known = dict.fromkeys([*note.tags, *run_choices(services().store).tags])
    given: dict[str, Any] = {"name": st.text_input("Name of the run", run.name, max_chars=120).strip()}
    given["tags"] = tuple(
        st.multiselect(
            "Tags", list(known), list(note.tags), accept_new_options=True, placeholder="choose, or type a new one"
        )
    )
    given["text"] = st.text_area(
        "Note", note.text, height=180, max_chars=20_000, help="Markdown. HTML and images are shown as text."
    ).strip()
    st.caption("Your own verdict, beside the numbers: 1 is poor, 5 is excellent.")
    with st.container(horizontal=True):
        for name, title in RATED.items():
            given[name] = st.segmented_control(
                title, SCALE, default=getattr(note, name), key=f"rate-{name}-{note.version}"
            )
    given["impression"] = st.text_input("In a sentence", note.impression, max_chars=300).strip()
    given["is_archived"] = st.checkbox("Archived: hidden on Runs unless asked for", note.is_archived)
    return given


def _kept_name(run: Run, note: RunNote, given: dict[str, Any]) -> dict[str, Any]:
    """Without a name where it is the one that the run has."""
    name = given["name"]
    return given | {"name": note.name if name in ("", run.name) else name}


@st.dialog("Earlier versions", width="large")
def _versions(run: Run) -> None:
    for note in reversed(note_versions(services().store, [run.id])):
        name = f"named {markup.text(note.name)}" if note.name else ""
        st.html(f"<p><b>Version {note.version}</b> {name}</p>{said(note) or '<p>Nothing was said.</p>'}")
