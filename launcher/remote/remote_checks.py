"""Queries another machine before a launch for its hardware and for missing requirements of the command."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from commands.presets import Needs
from domain import Config, Machine
from launcher.checks.check_result import MachineCheckResult
from launcher.remote.hosts import Host, HostError
from launcher.remote.orders import CheckOrder, MachineOrder
from launcher.remote.ssh import ask

CHECK_S = 30.0  # a user waits for it
NOT_UNDERSTOOD = "Pitwall did not understand the answer of {}: update both Pitwalls to the same version."
_MACHINE = TypeAdapter(Machine)


def read_machine(host: Host) -> Machine:
    """Return the host's description of its machine; raises HostError."""
    answer = ask(host, MachineOrder().model_dump(mode="json"))
    try:
        return _MACHINE.validate_python(answer)
    except ValidationError:
        raise HostError(NOT_UNDERSTOOD.format(host.label)) from None


def check_on_host(host: Host, config: Config, needs: Needs, cwd: Path | None = None) -> MachineCheckResult:
    """Return what the machine lacks for this configuration; raises HostError."""
    order = CheckOrder(config=config, needs=needs, cwd=str(cwd) if cwd else None)
    try:
        return MachineCheckResult.model_validate(ask(host, order.model_dump(mode="json"), CHECK_S))
    except ValidationError:
        raise HostError(NOT_UNDERSTOOD.format(host.label)) from None
