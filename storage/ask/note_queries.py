"""Queries about people's notes, asked of the store or of the published file alike."""

from __future__ import annotations

from collections.abc import Sequence

from notes import Gotcha, RunNote, SavedView
from storage.ask.queries import Asked
from storage.ask.statements import statement


def notes(store: Asked, run_ids: Sequence[str]) -> dict[str, RunNote]:
    """What is said of each run now; of one of which nobody said anything an empty note."""
    rows = store.query(statement("notes"), {"run_ids": list(run_ids)}).to_pylist()
    said = {row["run_id"]: RunNote.model_validate(row) for row in rows}
    return {run_id: said.get(run_id) or RunNote(run_id=run_id) for run_id in run_ids}


def note_versions(store: Asked, run_ids: Sequence[str]) -> list[RunNote]:
    """Every version of what was said of these runs, the oldest first."""
    rows = store.query(statement("note_versions"), {"run_ids": list(run_ids)}).to_pylist()
    return [RunNote.model_validate(row) for row in rows]


def gotchas(asked: Asked) -> list[Gotcha]:
    """Every gotcha in force, the newest first."""
    rows = asked.query(statement("gotchas"), {}).to_pylist()
    return [Gotcha.model_validate(row) for row in rows]


def saved_views(asked: Asked, page: str) -> list[SavedView]:
    """The views of a page that are kept, by their names."""
    found = [view for view in newest_views(asked) if view.page == page and not view.is_removed]
    return sorted(found, key=lambda view: view.name.lower())


def newest_views(asked: Asked) -> list[SavedView]:
    """The newest version of every view, removed ones among them."""
    return [SavedView.model_validate(row) for row in asked.query(statement("saved_views"), {}).to_pylist()]
