"""Changes to people's notes on runs, by the operator and editors; each change is recorded in the audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from analysis.note_changes import changes_between
from domain import Run
from notes import RunNote
from web import audit
from web.access.roles import current_person
from web.actions import require_editor
from web.context import services


def annotate(run_ids: Sequence[str], edit: Callable[[RunNote], RunNote]) -> int:
    """Edit the notes of these runs; return how many changed. Raises pydantic.ValidationError if a text is too long."""
    require_editor()
    changed_notes = services().store.notes.change(run_ids, current_person(), edit)
    for before, after in changed_notes:
        for action, detail in changes_between(before, after):
            audit.record(action, [after.run_id], detail)
        if after.name and after.name != before.name:
            services().supervisor.rename(after.run_id, after.name)
    return len(changed_notes)


def set_star(run: Run, is_starred: bool) -> None:
    """Star a run or remove its star; for the operator and editors, recorded in the audit."""
    annotate([run.id], lambda note: note.model_copy(update={"is_starred": is_starred}))
