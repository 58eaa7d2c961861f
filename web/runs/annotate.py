"""Writing what a person says of runs: for the operator only, each change in the audit in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pydantic import ValidationError

from domain import Run
from notes import RunNote
from web import audit
from web.actions import require_operator
from web.context import services

RATED = {"agentic_feel": "Agentic feel", "coding": "Coding", "language": "Language"}


def annotate(run_ids: Sequence[str], edit: Callable[[RunNote], RunNote]) -> int:
    """Edit the notes of these runs; how many have changed. Raises pydantic.ValidationError for what is too long."""
    require_operator()
    changed = services().store.notes.change(run_ids, "operator", edit)
    for before, after in changed:
        for action, detail in changes_between(before, after):
            audit.record(action, [after.run_id], detail)
        if after.name and after.name != before.name:
            services().supervisor.rename(after.run_id, after.name)
    return len(changed)


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


def set_star(run: Run, is_starred: bool) -> None:
    annotate([run.id], lambda note: note.model_copy(update={"is_starred": is_starred}))


def refusal(error: ValidationError) -> str:
    """Why a note was not taken: 'tags: String should have at most 40 characters.'"""
    first = error.errors()[0]
    return f"{first['loc'][0]}: {first['msg']}."
