"""Servers that may still run on a host that did not answer when their run was stopped.

Each has a note in a folder beside the run folders, so that the next Pitwall, or the client of the next start on that
host, can end it.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from launcher.processes.runtimes import ContainerFacts
from launcher.processes.stopping import StopReport
from launcher.remote.hosts import Host, HostError
from launcher.remote.orders import ForgetOrder, RunId, StopOrder
from launcher.remote.orders import RemoteStopReport as StoppedThere
from launcher.remote.ssh import ask
from launcher.teardown import StopResult
from machine.private_files import write_private

NOTES_FOLDER = "left-there"
GRACE_S = 10.0  # short, since the run's own grace has passed
EXTRA_TIMEOUT_S = 90.0  # beyond the grace: a stop may need SIGKILL, and checks the port and GPU memory


class OrphanNote(BaseModel):
    """Server to end, with its host as recorded then, independent of later changes to the host book."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    host: Host
    run_id: RunId
    is_left_alone: bool  # its script started the server elsewhere
    remains: tuple[str, ...] | None = None  # leftovers after it was ended, not yet reported; None: not ended yet


def stop_on_host(note: OrphanNote, grace_s: float) -> StopResult:
    """End the server on the host with its descendants; raises HostError."""
    order = StopOrder(run_id=note.run_id, grace_s=grace_s, is_left_alone=note.is_left_alone)
    answer = ask(note.host, order.model_dump(mode="json"), grace_s + EXTRA_TIMEOUT_S)
    try:
        report = StoppedThere.model_validate(answer)
    except ValidationError:
        raise HostError(f"Pitwall did not understand the answer of {note.host.label}.") from None
    container = ContainerFacts(**report.container.model_dump()) if report.container else None
    return StopReport(report.actions, report.leftovers), container


def remove_remote_folder(host: Host, run_id: str) -> None:
    """Remove its folder on the host; failures are ignored, since it only takes disk space."""
    with suppress(HostError):
        ask(host, ForgetOrder(run_id=run_id).model_dump(mode="json"))


def write_orphan_note(runs_dir: Path, note: OrphanNote) -> None:
    """Write the note; raises OSError."""
    write_private(_note_path(runs_dir, note.run_id), note.model_dump_json().encode())


def delete_orphan_note(runs_dir: Path, run_id: str) -> None:
    """Delete the note, if there is one."""
    _note_path(runs_dir, run_id).unlink(missing_ok=True)


def read_orphan_notes(runs_dir: Path) -> list[OrphanNote]:
    """Read every valid note."""
    notes = []
    for path in sorted((runs_dir / NOTES_FOLDER).glob("[!.]*.json")):
        with suppress(FileNotFoundError, ValidationError, HostError):
            notes.append(OrphanNote.model_validate_json(path.read_bytes()))
    return notes


def end_orphan(runs_dir: Path, note: OrphanNote) -> OrphanNote:
    """End the remains of one run, and record the leftovers in its note; raises HostError, OSError."""
    report, _ = stop_on_host(note, GRACE_S)
    if report.is_clean:
        remove_remote_folder(note.host, note.run_id)
    ended = note.model_copy(update={"remains": report.leftovers})
    write_orphan_note(runs_dir, ended)
    return ended


def _note_path(runs_dir: Path, run_id: str) -> Path:
    return runs_dir / NOTES_FOLDER / f"{run_id}.json"
