"""Servers that may be left on a host that did not answer when their run was stopped.

A note of each lies in a folder beside those of the runs, so that the next Pitwall, and the client of the next start on
that host, can end what is left there.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from launcher.processes.runtimes import ContainerFacts
from launcher.processes.stopping import StopReport
from launcher.remote.hosts import Host, HostError
from launcher.remote.orders import Forget, RunId, Stop
from launcher.remote.orders import Stopped as StoppedThere
from launcher.remote.ssh import ask
from launcher.runs.supervised_runs.teardown import Stopped
from machine.private_files import write_private

FOLDER = "left-there"
GRACE_S = 10.0  # its run was given its time before
LONGER_S = 90.0  # than the grace: a stop may have to insist, and looks whether all is free again


class Left(BaseModel):
    """What is to be ended, and on which host, whatever becomes of the list of hosts."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    host: Host
    run_id: RunId
    is_left_alone: bool  # its script had left the server to itself
    remains: tuple[str, ...] | None = None  # after it was ended, which the run does not say yet; None: it was not


def stop_there(left: Left, grace_s: float) -> Stopped:
    """End the server over there with all that it started; raises HostError."""
    order = Stop(run_id=left.run_id, grace_s=grace_s, is_left_alone=left.is_left_alone)
    answer = ask(left.host, order.model_dump(mode="json"), grace_s + LONGER_S)
    try:
        stopped = StoppedThere.model_validate(answer)
    except ValidationError:
        raise HostError(f"{left.host.label} was not understood.") from None
    container = ContainerFacts(**stopped.container.model_dump()) if stopped.container else None
    return StopReport(stopped.actions, stopped.leftovers), container


def tidy_there(host: Host, run_id: str) -> None:
    """Remove its folder over there; what stays of it is room on a disk, no more."""
    with suppress(HostError):
        ask(host, Forget(run_id=run_id).model_dump(mode="json"))


def note_left(runs_dir: Path, left: Left) -> None:
    """Raises OSError."""
    write_private(_note(runs_dir, left.run_id), left.model_dump_json().encode())


def forget_left(runs_dir: Path, run_id: str) -> None:
    """Its end is known, or nobody asks for it any more."""
    _note(runs_dir, run_id).unlink(missing_ok=True)


def all_left(runs_dir: Path) -> list[Left]:
    """Every note that can be read."""
    found = []
    for path in sorted((runs_dir / FOLDER).glob("[!.]*.json")):
        with suppress(FileNotFoundError, ValidationError, HostError):
            found.append(Left.model_validate_json(path.read_bytes()))
    return found


def end_left(runs_dir: Path, left: Left) -> Left:
    """End what is left of one run, and note what remains; raises HostError, OSError."""
    report, _ = stop_there(left, GRACE_S)
    if report.is_clean:
        tidy_there(left.host, left.run_id)
    ended = left.model_copy(update={"remains": report.leftovers})
    note_left(runs_dir, ended)
    return ended


def _note(runs_dir: Path, run_id: str) -> Path:
    return runs_dir / FOLDER / f"{run_id}.json"
