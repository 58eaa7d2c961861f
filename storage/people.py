"""Notes, gotchas and saved views written by people; every change adds a version."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from analysis.gotchas import cause_key
from domain import AuditEntry
from notes import Gotcha, RunNote, SavedView
from redaction import mask_text
from storage.queries.note_queries import gotchas, newest_views, note_versions, notes
from storage.queries.run_data import Queryable
from storage.records import audit_table, gotcha_table, note_table, view_table
from storage.writer import PendingWrite, Writer


class Book:
    """Base class for records written by people; thread-safe, and concurrent changes are not lost."""

    def __init__(self, store: Queryable, writer: Writer, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._writer = writer
        self._clock = clock
        self._lock = threading.Lock()


class NoteBook(Book):
    """The notes of a store."""

    def change(
        self, run_ids: Sequence[str], role: str, edit: Callable[[RunNote], RunNote]
    ) -> list[tuple[RunNote, RunNote]]:
        """Edit the notes of these runs; return (before, after) of each changed note, durable on return.

        Secrets are masked. Raises pydantic.ValidationError for values that are too long or out of range.
        """
        with self._lock:
            changes = self._changes(run_ids, role, edit, self._clock())
            self.write([after for _, after in changes])
        return changes

    def apply_once(
        self,
        run_id: str,
        edit: Callable[[RunNote], RunNote],
        commanded_at: datetime,
        audit_entries: Callable[[RunNote, RunNote], Iterable[AuditEntry]],
    ) -> RunNote:
        """Apply the operator's command of a given time at most once, and return the note.

        The result of `audit_entries(before, after)` is stored in the same transaction. Raises as `change` does.
        """
        with self._lock:
            for version in note_versions(self._store, [run_id]):
                if version.written_at == commanded_at and _checked(edit(version)) == version:
                    return version  # applied before a kill that prevented the confirmation
            for before, after in self._changes([run_id], "operator", edit, commanded_at):
                tables = {"run_notes": note_table([after]), "audit": audit_table(audit_entries(before, after))}
                self._writer.submit(PendingWrite(tables, frozenset([run_id]), is_urgent=True)).result()
                return after
            return notes(self._store, [run_id])[run_id]

    def write(self, versions: Sequence[RunNote]) -> None:
        """Store versions unchanged; durable on return."""
        if versions:
            run_ids = frozenset(note.run_id for note in versions)
            self._writer.submit(PendingWrite({"run_notes": note_table(versions)}, run_ids, is_urgent=True)).result()

    def _changes(
        self, run_ids: Sequence[str], role: str, edit: Callable[[RunNote], RunNote], now: datetime
    ) -> list[tuple[RunNote, RunNote]]:
        """(before, after) of each note that the edit changes, not stored yet."""
        before = notes(self._store, list(dict.fromkeys(run_ids)))
        after = {run_id: _checked(edit(note)) for run_id, note in before.items()}
        return [
            (note, after[run_id].model_copy(update={"version": note.version + 1, "written_at": now, "role": role}))
            for run_id, note in before.items()
            if after[run_id] != note
        ]


class GotchaBook(Book):
    """The gotchas of a store."""

    def save(self, gotcha: Gotcha, role: str) -> Gotcha:
        """Store a gotcha, or its next version if the id exists, with secrets masked; durable on return.

        Raises ValueError if it has neither a cause nor a flag.
        """
        if not (gotcha.cause or gotcha.flag):
            raise ValueError("Enter a cause or a flag; the gotcha is found by it.")
        with self._lock:
            versions = {stored.id: stored.version for stored in gotchas(self._store)}
            stamp = {"version": versions.get(gotcha.id, 0) + 1, "written_at": self._clock(), "role": role}
            texts = ("cause", "flag", "failure", "workaround", "link")
            masked = {name: mask_text(text) for name in texts if (text := getattr(gotcha, name))}
            stamped = gotcha.model_copy(update=stamp | masked)
            self._writer.submit(
                PendingWrite({"gotchas": gotcha_table([stamped])}, frozenset(), is_urgent=True)
            ).result()
        return stamped

    def select_new(self, candidates: Iterable[Gotcha]) -> list[Gotcha]:
        """Return the candidates whose id was never stored here and whose content is not in force already."""
        ids = set(self._store.query("SELECT DISTINCT id FROM raw.gotchas")["id"].to_pylist())
        contents = {_content(gotcha) for gotcha in gotchas(self._store)}
        new = {
            _content(gotcha): gotcha
            for gotcha in candidates
            if gotcha.id not in ids and _content(gotcha) not in contents
        }
        return list(new.values())


def _content(gotcha: Gotcha) -> tuple[str | None, ...]:
    return (gotcha.engine, gotcha.cause and cause_key(gotcha.cause), gotcha.flag, gotcha.failure, gotcha.workaround)


class ViewBook(Book):
    """The saved views of a store."""

    def save(self, view: SavedView, role: str) -> SavedView:
        """Store a view, or the next version of the view with its page and name; durable on return."""
        with self._lock:
            versions = {(stored.page, stored.name): stored.version for stored in newest_views(self._store)}
            name = mask_text(view.name)
            stamp = {"version": versions.get((view.page, name), 0) + 1, "written_at": self._clock(), "role": role}
            stamped = view.model_copy(update=stamp | {"name": name, "query": mask_text(view.query)})
            self._writer.submit(
                PendingWrite({"saved_views": view_table(stamped)}, frozenset(), is_urgent=True)
            ).result()
        return stamped


def _checked(note: RunNote) -> RunNote:
    """The note with secrets masked and duplicate tags removed; raises pydantic.ValidationError beyond its limits."""
    texts = {name: mask_text(text) for name in ("name", "text", "impression") if (text := getattr(note, name))}
    tags = dict.fromkeys(mask_text(tag.strip()) for tag in note.tags if tag.strip())
    return RunNote.model_validate(note.model_dump() | texts | {"tags": tuple(tags)})
