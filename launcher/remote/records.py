"""Records in the local folder of a run on another machine: the launch that was sent, and the reported status."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from domain import Run
from launcher.json_file import write_json
from launcher.remote.hosts import Host
from launcher.remote.orders import RemoteExit, RemoteProvenance, RemoteServer
from machine.private_files import make_private, write_private

LAUNCH_FILE, STATUS_FILE = "remote.json", "far.json"


class RemoteLaunch(BaseModel):
    """Launch as it is sent, with the host as recorded then, independent of later changes to the host book."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    host: Host
    run: Run  # with placeholders for secrets, and its URL as seen on the host
    cwd: str | None
    makes_model: bool
    forward: str | None  # argument of `ssh -L`; None: the server is reached by the host's address
    secret_names: tuple[str, ...]  # variables of the client's shim that are sent


class RemoteStatus(BaseModel):
    """Status that the other machine has reported so far."""

    model_config = ConfigDict(extra="forbid")
    is_asked: bool = False  # the order may have arrived
    has_begun: bool = False  # the order has arrived
    refusal: str | None = None  # why nothing was started
    trouble: str | None = None  # why the run cannot be followed now
    server: RemoteServer | None = None
    exit: RemoteExit | None = None
    about: RemoteProvenance | None = None
    passed: tuple[str, ...] = ()  # sentences about exceeded limits


def write_remote_launch(directory: Path, remote_launch: RemoteLaunch) -> None:
    """Write the launch; raises OSError."""
    write_private(directory / LAUNCH_FILE, remote_launch.model_dump_json().encode())


def read_remote_launch(directory: Path) -> RemoteLaunch:
    """Read the launch; raises OSError."""
    return RemoteLaunch.model_validate_json((directory / LAUNCH_FILE).read_bytes())


def write_remote_status(directory: Path, status: RemoteStatus) -> None:
    """Replace the status atomically; raises OSError."""
    write_json(directory / STATUS_FILE, status.model_dump(mode="json"))
    make_private(directory / STATUS_FILE)


def read_remote_status(directory: Path) -> RemoteStatus:
    """Read the status; empty if there is no valid file."""
    try:
        return RemoteStatus.model_validate(json.loads((directory / STATUS_FILE).read_bytes()))
    except (FileNotFoundError, ValidationError):
        return RemoteStatus()
