"""Processes the inbox of a store; its owner does so, a running Pitwall or a command where none runs."""

from __future__ import annotations

from pydantic import ValidationError

from analysis.note_changes import changes_between, edited, refusal
from collectors.imports.inbox import Inbox, NoteJob, inbox_folder
from collectors.imports.log_file import ImportRefusedError
from collectors.imports.log_import import LogImporter
from collectors.imports.result_import import ResultImporter
from domain import AuditEntry, utc_now
from notes import RunNote
from settings import Settings
from storage.database import StoreError
from storage.store import Store
from storage.transfer.bundle_import import import_bundle


def inbox_of(store: Store, settings: Settings) -> Inbox:
    """Not at work yet."""
    return Inbox(
        inbox_folder(settings.data_dir),
        LogImporter(store, settings.runs_dir, utc_now),
        ResultImporter(store, utc_now),
        lambda path, report: import_bundle(store, settings, path, report),
        lambda job: take_note(store, job),
        (StoreError,),
    )


def take_note(store: Store, job: NoteJob) -> tuple[RunNote, str]:
    """What is said of the run now, and what was done in a sentence; raises ImportRefusedError."""
    run = store.run(job.run)
    if run is None:
        raise ImportRefusedError(f"There is no run {job.run} in this data folder.")
    done: list[str] = []

    def audited(before: RunNote, after: RunNote) -> list[AuditEntry]:
        changes = list(changes_between(before, after))
        done.extend(" ".join(filter(None, change)) for change in changes)
        return [AuditEntry(job.said_at, job.by, action, run.id, detail) for action, detail in changes]

    try:
        note = store.notes.take(run.id, lambda said: edited(said, job.edit), job.said_at, audited)
    except ValidationError as error:
        raise ImportRefusedError(refusal(error)) from error
    what = f"version {note.version}: {', '.join(done)}" if done else f"version {note.version} says so already"
    return note, f"{run.name} ({run.id}), {what}."
