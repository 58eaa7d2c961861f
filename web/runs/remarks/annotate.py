"""Writing what a person says of runs: for the operator and editors, each change in the audit in words."""

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
    """Edit the notes of these runs; how many have changed. Raises pydantic.ValidationError for what is too long."""
    require_editor()
    changed = services().store.notes.change(run_ids, current_person(), edit)
    for before, after in changed:
        for action, detail in changes_between(before, after):
            audit.record(action, [after.run_id], detail)
        if after.name and after.name != before.name:
            services().supervisor.rename(after.run_id, after.name)
    return len(changed)


def set_star(run: Run, is_starred: bool) -> None:
    """Put the star on a run or take it off; for the operator and editors, and written into the audit."""
    annotate([run.id], lambda note: note.model_copy(update={"is_starred": is_starred}))
