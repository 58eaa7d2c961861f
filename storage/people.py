"""Notes, gotchas and saved views that people write; every change adds a version."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from analysis.gotchas import cause_key
from domain import AuditEntry
from notes import Gotcha, RunNote, SavedView
from redaction import mask_text
from storage.ask.note_queries import gotchas, newest_views, note_versions, notes
from storage.ask.queries import Asked
from storage.records import audit_table, gotcha_table, note_table, view_table
from storage.writer import Pending, Writer


class Book:
    """What people write in a store; safe from any thread, no change is lost to one that is made at the same moment."""

    def __init__(self, asked: Asked, writer: Writer, clock: Callable[[], datetime]) -> None:
        self._asked = asked
        self._writer = writer
        self._clock = clock
        self._lock = threading.Lock()


class NoteBook(Book):
    """The notes of a store."""

    def change(
        self, run_ids: Sequence[str], role: str, edit: Callable[[RunNote], RunNote]
    ) -> list[tuple[RunNote, RunNote]]:
        """Edit the notes of these runs together; (before, after) of each that has changed, durable when it returns.

        Secrets are masked before they are stored. Raises pydantic.ValidationError for what is too long or out of its
        scale.
        """
        with self._lock:
            changes = self._changes(run_ids, role, edit, self._clock())
            self.write([after for _, after in changes])
        return changes

    def take(
        self,
        run_id: str,
        edit: Callable[[RunNote], RunNote],
        said_at: datetime,
        audited: Callable[[RunNote, RunNote], Iterable[AuditEntry]],
    ) -> RunNote:
        """What a command of the operator's said at a moment, once however often it is given; the note as it is then.

        What `audited(before, after)` says for the audit is stored in the same transaction. Raises as `change` does.
        """
        with self._lock:
            for known in note_versions(self._asked, [run_id]):
                if known.written_at == said_at and _checked(edit(known)) == known:
                    return known  # whoever took it was killed before it could say so
            for before, after in self._changes([run_id], "operator", edit, said_at):
                tables = {"run_notes": note_table([after]), "audit": audit_table(audited(before, after))}
                self._writer.submit(Pending(tables, frozenset([run_id]), urgent=True)).result()
                return after
            return notes(self._asked, [run_id])[run_id]

    def write(self, versions: Sequence[RunNote]) -> None:
        """Store versions as they are; durable when it returns."""
        if versions:
            run_ids = frozenset(note.run_id for note in versions)
            self._writer.submit(Pending({"run_notes": note_table(versions)}, run_ids, urgent=True)).result()

    def _changes(
        self, run_ids: Sequence[str], role: str, edit: Callable[[RunNote], RunNote], now: datetime
    ) -> list[tuple[RunNote, RunNote]]:
        """(before, after) of each note that an edit changes, not stored yet."""
        before = notes(self._asked, list(dict.fromkeys(run_ids)))
        after = {run_id: _checked(edit(note)) for run_id, note in before.items()}
        return [
            (note, after[run_id].model_copy(update={"version": note.version + 1, "written_at": now, "role": role}))
            for run_id, note in before.items()
            if after[run_id] != note
        ]


class GotchaBook(Book):
    """The gotchas of a store."""

    def keep(self, gotcha: Gotcha, role: str) -> Gotcha:
        """Store a gotcha, or the next version of one that is known by its id; durable when it returns, secrets masked.

        Raises ValueError for one that is about neither a cause nor a flag.
        """
        if not (gotcha.cause or gotcha.flag):
            raise ValueError("Say a cause or a flag: by it the gotcha is found again.")
        with self._lock:
            known = {one.id: one.version for one in gotchas(self._asked)}
            stamp = {"version": known.get(gotcha.id, 0) + 1, "written_at": self._clock(), "role": role}
            texts = ("cause", "flag", "failure", "workaround", "link")
            masked = {name: mask_text(said) for name in texts if (said := getattr(gotcha, name))}
            kept = gotcha.model_copy(update=stamp | masked)
            self._writer.submit(Pending({"gotchas": gotcha_table([kept])}, frozenset(), urgent=True)).result()
        return kept

    def unknown(self, given: Iterable[Gotcha]) -> list[Gotcha]:
        """Those of another Pitwall that are not kept here, nor withdrawn, nor say what one in force says."""
        ids = set(self._asked.query("SELECT DISTINCT id FROM raw.gotchas")["id"].to_pylist())
        said = {_sense(one) for one in gotchas(self._asked)}
        new = {_sense(one): one for one in given if one.id not in ids and _sense(one) not in said}
        return list(new.values())


def _sense(one: Gotcha) -> tuple[str | None, ...]:
    return (one.engine, one.cause and cause_key(one.cause), one.flag, one.failure, one.workaround)


class ViewBook(Book):
    """The saved views of a store."""

    def keep(self, view: SavedView, role: str) -> SavedView:
        """Store a view, or the next version of the one of its page and name; durable when it returns."""
        with self._lock:
            known = {(one.page, one.name): one.version for one in newest_views(self._asked)}
            name = mask_text(view.name)
            stamp = {"version": known.get((view.page, name), 0) + 1, "written_at": self._clock(), "role": role}
            kept = view.model_copy(update=stamp | {"name": name, "query": mask_text(view.query)})
            self._writer.submit(Pending({"saved_views": view_table(kept)}, frozenset(), urgent=True)).result()
        return kept


def _checked(note: RunNote) -> RunNote:
    """Within its limits, without secrets, each tag once."""
    texts = {name: mask_text(said) for name in ("name", "text", "impression") if (said := getattr(note, name))}
    tags = dict.fromkeys(mask_text(tag.strip()) for tag in note.tags if tag.strip())
    return RunNote.model_validate(note.model_dump() | texts | {"tags": tuple(tags)})
