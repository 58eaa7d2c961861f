"""Queries about notes, gotchas and saved views, for the store or the published file."""

from __future__ import annotations

from collections.abc import Sequence

from notes import Gotcha, RunNote, SavedView
from storage.queries.run_data import Queryable
from storage.queries.statements import statement


def notes(store: Queryable, run_ids: Sequence[str]) -> dict[str, RunNote]:
    """Return the current note of each run; an empty note if there is none."""
    rows = store.query(statement("notes"), {"run_ids": list(run_ids)}).to_pylist()
    notes_by_run = {row["run_id"]: RunNote.model_validate(row) for row in rows}
    return {run_id: notes_by_run.get(run_id) or RunNote(run_id=run_id) for run_id in run_ids}


def note_versions(store: Queryable, run_ids: Sequence[str]) -> list[RunNote]:
    """Return every version of the notes of these runs, oldest first."""
    rows = store.query(statement("note_versions"), {"run_ids": list(run_ids)}).to_pylist()
    return [RunNote.model_validate(row) for row in rows]


def gotchas(store: Queryable) -> list[Gotcha]:
    """Return all gotchas in force, newest first."""
    rows = store.query(statement("gotchas"), {}).to_pylist()
    return [Gotcha.model_validate(row) for row in rows]


def saved_views(store: Queryable, page: str) -> list[SavedView]:
    """Return the saved views of a page, ordered by name."""
    views = [view for view in newest_views(store) if view.page == page and not view.is_removed]
    return sorted(views, key=lambda view: view.name.lower())


def newest_views(store: Queryable) -> list[SavedView]:
    """Return the newest version of every saved view, including removed ones."""
    return [SavedView.model_validate(row) for row in store.query(statement("saved_views"), {}).to_pylist()]
