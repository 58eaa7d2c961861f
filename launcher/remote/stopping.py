"""Stops a run on another machine: first the server there, then its client here."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from domain import Run
from launcher.processes.process import server_process
from launcher.processes.runtimes import ContainerFacts
from launcher.processes.stopping import StopReport, join, stop_process, wait_until
from launcher.remote.hosts import HostError
from launcher.remote.orders import Forget, Stop
from launcher.remote.orders import Stopped as StoppedThere
from launcher.remote.records import Asked, read_asked, read_known
from launcher.remote.ssh import ask
from launcher.runs.lives.run_loads import stop_clients
from launcher.runs.lives.teardown import Stopped, is_left_alone

LONGER_S = 90.0  # than the grace: a stop may have to insist, and looks whether all is free again
LAST_LINES_S = 30.0
CLIENT_GRACE_S = 2.0


def stop_remote(run: Run, grace_s: float) -> Stopped:
    """End everything of a run on another machine; takes as long as that, and blocks nobody else."""
    assert run.run_dir
    directory = Path(run.run_dir)
    asked = read_asked(directory)
    workload = stop_clients(directory)
    there = _stop_there(asked, directory, grace_s)
    is_over = there is not None and there[0].is_clean
    if is_over:
        wait_until(lambda: _is_through(directory), LAST_LINES_S)
    client = StopReport(leftovers=stop_process(directory, CLIENT_GRACE_S).leftovers)
    if not is_over:  # what the client still began meanwhile
        there = _stop_there(asked, directory, grace_s)
    if there is None:
        return join([workload, client]), None
    if there[0].is_clean:
        _forget(asked)
    return join([workload, there[0], client]), there[1]


def _stop_there(asked: Asked, directory: Path, grace_s: float) -> Stopped | None:
    """What stopping it did; None where nothing was ever started, and the host may be away."""
    if not read_known(directory).is_asked:
        return None
    order = Stop(run_id=asked.run.id, grace_s=grace_s, is_left_alone=is_left_alone(directory))
    try:
        told = StoppedThere.model_validate(ask(asked.host, order.model_dump(mode="json"), grace_s + LONGER_S))
        container = ContainerFacts(**told.container.model_dump()) if told.container else None
        return StopReport(told.actions, told.leftovers), container
    except (HostError, ValidationError) as error:
        why = str(error) if isinstance(error, HostError) else f"{asked.host.label} was not understood."
        way = f"`./pitwall shim stop {asked.run.id}` over there ends it"
        return StopReport(leftovers=(f"Whether its server is left is not known: {way}. {why}",)), None


def _is_through(directory: Path) -> bool:
    """Whether the last line of the log is here, or will never be."""
    return read_known(directory).exit is not None or server_process(directory) is None


def _forget(asked: Asked) -> None:
    """What is left in its folder over there is room on a disk, no more."""
    try:
        ask(asked.host, Forget(run_id=asked.run.id).model_dump(mode="json"))
    except HostError:
        return
