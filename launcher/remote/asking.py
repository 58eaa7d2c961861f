"""Asks another machine before a launch what hardware it has and what it lacks for the command."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from commands.presets import Needs
from domain import Config, Machine
from launcher.remote.hosts import Host, HostError
from launcher.remote.orders import Check, Lacks, WhoAreYou
from launcher.remote.ssh import ask

CHECK_S = 30.0  # somebody waits for it
_MACHINE = TypeAdapter(Machine)


def machine_of(host: Host) -> Machine:
    """Raises HostError."""
    answer = ask(host, WhoAreYou().model_dump(mode="json"))
    try:
        return _MACHINE.validate_python(answer)
    except ValidationError:
        raise HostError(f"What {host.label} says of itself was not understood: update both Pitwalls.") from None


def lacks_of(host: Host, config: Config, needs: Needs, cwd: Path | None = None) -> Lacks:
    """What the machine lacks for this configuration; raises HostError."""
    order = Check(config=config, needs=needs, cwd=str(cwd) if cwd else None)
    try:
        return Lacks.model_validate(ask(host, order.model_dump(mode="json"), CHECK_S))
    except ValidationError:
        raise HostError(f"What {host.label} says of itself was not understood: update both Pitwalls.") from None
