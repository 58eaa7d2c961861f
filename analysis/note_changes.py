"""Edits of run notes and their descriptions for the audit."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationError

from notes import NoteEdit, RunNote

RATING_TITLES = {"agentic_feel": "Agentic feel", "coding": "Coding", "language": "Language"}


def apply_edit(note: RunNote, edit: NoteEdit) -> RunNote:
    """Return the note after an edit; fields that the edit leaves out stay. Idempotent."""
    replacements = {"text": edit.text, "is_starred": edit.is_starred, "impression": edit.impression}
    tags = [tag for tag in dict.fromkeys([*note.tags, *edit.tags]) if tag not in edit.tags_taken_off]
    changes = {name: value for name, value in replacements.items() if value is not None}
    return note.model_copy(update=changes | edit.ratings | {"tags": tuple(tags)})


def changes_between(before: RunNote, after: RunNote) -> Iterator[tuple[str, str]]:
    """Yield each change as an audit action with a short detail."""
    if after.name != before.name:
        yield "rename", f"to {after.name}"
    if after.is_starred != before.is_starred:
        yield ("star" if after.is_starred else "unstar"), ""
    if after.is_archived != before.is_archived:
        yield ("archive" if after.is_archived else "unarchive"), ""
    if after.tags != before.tags:
        yield "tag", ", ".join(after.tags) or "no tags"
    if rating_labels(after) != rating_labels(before) or after.impression != before.impression:
        yield "rate", ", ".join(rating_labels(after)) or after.impression or "no verdict"
    if after.text != before.text:
        yield "note", f"version {after.version}"


def rating_labels(note: RunNote) -> list[str]:
    """Return the ratings as labels such as 'Coding 4/5'."""
    return [
        f"{title} {rating}/5" for name, title in RATING_TITLES.items() if (rating := getattr(note, name)) is not None
    ]


def refusal_text(error: ValidationError) -> str:
    """Return why a note was refused: 'tags: String should have at most 40 characters.'"""
    first_error = error.errors()[0]
    return f"{first_error['loc'][0]}: {first_error['msg']}."
