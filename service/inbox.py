"""The inbox of a store, processed by its owner: a running Pitwall, or a command if none runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from pydantic import ValidationError

from analysis.note_changes import apply_edit, changes_between, refusal_text
from collectors.imports.inbox import DeletionJob, Inbox, LoadStartJob, NoteJob, inbox_folder
from collectors.imports.log_file import ImportRefusedError
from collectors.imports.log_import import LogImporter
from collectors.imports.result_import import ResultImporter
from domain import AuditEntry, Run, WorkloadSpec, utc_now
from launcher.checks.launch_request import LaunchRefusedError
from launcher.runs.live_runs import UnknownRunError
from notes import RunNote
from redaction import SERVER_API_KEY
from settings import Settings
from storage.database import StoreError
from storage.store import Store
from storage.transfer.bundle_import import import_bundle
from workloads import spec_for
from workloads.texts.prompt_file import PlanError

StartLoad = Callable[[str, WorkloadSpec, Mapping[str, str]], Run]


def inbox_of(store: Store, settings: Settings, start_load: StartLoad | None = None) -> Inbox:
    """Return the inbox, not started yet; start_load: of the supervisor, None where no server is supervised."""
    return Inbox(
        inbox_folder(settings.data_dir),
        LogImporter(store, settings.runs_dir, utc_now),
        ResultImporter(store, utc_now),
        lambda path, report: import_bundle(store, settings, path, report),
        lambda job: take_note(store, job),
        lambda job: delete_runs(store, job),
        (StoreError,),
        loads=partial(put_load, store, start_load) if start_load else None,
    )


def put_load(store: Store, start_load: StartLoad, job: LoadStartJob, server_key: str | None = None) -> str:
    """Start the load of a job and return a sentence; raises ImportRefusedError."""
    try:
        secrets = {SERVER_API_KEY: server_key} if server_key else {}
        run = start_load(job.run, spec_for(job.workload, job.params), secrets)
    except KeyError:
        raise ImportRefusedError(f"There is no workload {job.workload!r}.") from None
    except ValidationError as error:
        raise ImportRefusedError(f"The workload {job.workload} is invalid: {error.errors()[0]['msg']}.") from error
    except (PlanError, LaunchRefusedError, UnknownRunError) as refusal:
        raise ImportRefusedError(str(refusal)) from refusal
    store.record([AuditEntry(utc_now(), job.by, "load", job.run, job.workload)]).result()
    return f"The load {job.workload} starts on {run.name} ({run.id})."


def delete_runs(store: Store, job: DeletionJob) -> str:
    """Delete all runs of the job, or none; return a sentence. Raises ImportRefusedError with each run's reason.

    A run that is deleted already stays so: the job of a killed command is done again.
    """
    undeleted = [run_id for run_id in job.deleted_runs if not store.bin.holds(run_id)]
    if reasons := store.bin.blocking_reasons(undeleted) or store.bin.delete(undeleted, job.by):
        raise ImportRefusedError(f"Nothing was deleted. {'; '.join(f'{key}: {why}' for key, why in reasons.items())}.")
    count = len(set(undeleted))
    if not count:
        return "It was deleted before; Runs can restore it for a day after that."
    return f"Deleted {count} run{'s' * (count > 1)}; Runs can restore {'them' if count > 1 else 'it'} for a day."


def take_note(store: Store, job: NoteJob) -> tuple[RunNote, str]:
    """Apply a note job; return the note and a sentence about the change. Raises ImportRefusedError."""
    run = store.run(job.run)
    if run is None:
        raise ImportRefusedError(f"There is no run {job.run} in this data folder.")
    changes_made: list[str] = []

    def audit_entries(before: RunNote, after: RunNote) -> list[AuditEntry]:
        changes = list(changes_between(before, after))
        changes_made.extend(" ".join(filter(None, change)) for change in changes)
        return [AuditEntry(job.said_at, job.by, action, run.id, detail) for action, detail in changes]

    try:
        note = store.notes.apply_once(
            run.id, lambda note_before: apply_edit(note_before, job.edit), job.said_at, audit_entries
        )
    except ValidationError as error:
        raise ImportRefusedError(refusal_text(error)) from error
    outcome = (
        f"version {note.version}: {', '.join(changes_made)}"
        if changes_made
        else f"version {note.version} already says so"
    )
    return note, f"{run.name} ({run.id}), {outcome}."
