"""The records in the local run folder of a run on another machine: what was asked for, and what is known of it."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from domain import Run
from launcher.json_file import write_json
from launcher.remote.hosts import Host
from launcher.remote.orders import About, Exit, Server
from machine.private_files import make_private, write_private

ASKED_FILE, KNOWN_FILE = "remote.json", "far.json"


class Asked(BaseModel):
    """The launch as it goes over; the host as it was then, whatever becomes of the list of hosts."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    host: Host
    run: Run  # its words with places for secrets, its URL as seen over there
    cwd: str | None
    makes_model: bool
    forward: str | None  # what `ssh -L` takes; None: its servers are reached by the host's address
    secret_names: tuple[str, ...]  # variables of the client's supervisor that go over


class Known(BaseModel):
    """What the far side has reported so far."""

    model_config = ConfigDict(extra="forbid")
    is_asked: bool = False  # the order may have arrived
    has_begun: bool = False  # it has
    refusal: str | None = None  # why nothing was started
    trouble: str | None = None  # why it is not followed now
    server: Server | None = None
    exit: Exit | None = None
    about: About | None = None
    passed: tuple[str, ...] = ()  # what is not known, or not kept, because a limit was passed


def write_asked(directory: Path, asked: Asked) -> None:
    """Raises OSError."""
    write_private(directory / ASKED_FILE, asked.model_dump_json().encode())


def read_asked(directory: Path) -> Asked:
    """Raises OSError."""
    return Asked.model_validate_json((directory / ASKED_FILE).read_bytes())


def write_known(directory: Path, known: Known) -> None:
    """Whole or not at all. Raises OSError."""
    write_json(directory / KNOWN_FILE, known.model_dump(mode="json"))
    make_private(directory / KNOWN_FILE)


def read_known(directory: Path) -> Known:
    """Nothing is known while there is no file."""
    try:
        return Known.model_validate(json.loads((directory / KNOWN_FILE).read_bytes()))
    except (FileNotFoundError, ValidationError):
        return Known()
