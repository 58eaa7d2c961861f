"""What a change of a note does, and what it did in words."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationError

from notes import NoteEdit, RunNote

RATED = {"agentic_feel": "Agentic feel", "coding": "Coding", "language": "Language"}


def edited(note: RunNote, edit: NoteEdit) -> RunNote:
    """A note after an edit; what the edit does not name stays. Doing it twice is doing it once."""
    said = {"text": edit.text, "is_starred": edit.is_starred, "impression": edit.impression}
    tags = [tag for tag in dict.fromkeys([*note.tags, *edit.tags]) if tag not in edit.tags_taken_off]
    named = {name: value for name, value in said.items() if value is not None}
    return note.model_copy(update=named | edit.ratings | {"tags": tuple(tags)})


def changes_between(before: RunNote, after: RunNote) -> Iterator[tuple[str, str]]:
    """What was done, as the audit calls it, and a word about it."""
    if after.name != before.name:
        yield "rename", f"to {after.name}"
    if after.is_starred != before.is_starred:
        yield ("star" if after.is_starred else "unstar"), ""
    if after.is_archived != before.is_archived:
        yield ("archive" if after.is_archived else "unarchive"), ""
    if after.tags != before.tags:
        yield "tag", ", ".join(after.tags) or "no tags"
    if rated(after) != rated(before) or after.impression != before.impression:
        yield "rate", ", ".join(rated(after)) or after.impression or "no verdict"
    if after.text != before.text:
        yield "note", f"version {after.version}"


def rated(note: RunNote) -> list[str]:
    """The ratings that were given: 'Coding 4/5'."""
    return [f"{title} {given}/5" for name, title in RATED.items() if (given := getattr(note, name)) is not None]


def refusal(error: ValidationError) -> str:
    """Why a note was not taken: 'tags: String should have at most 40 characters.'"""
    first = error.errors()[0]
    return f"{first['loc'][0]}: {first['msg']}."
