"""Stops a run on another machine: first the server there, then its client here."""

from __future__ import annotations

from pathlib import Path

from domain import Run
from launcher.processes.process import server_process
from launcher.processes.stopping import StopReport, join, stop_process, wait_until
from launcher.remote.hosts import HostError
from launcher.remote.left_there import Left, forget_left, note_left, stop_there, tidy_there
from launcher.remote.records import Asked, read_asked, read_known
from launcher.runs.supervised_runs.run_loads import stop_clients
from launcher.runs.supervised_runs.teardown import Stopped, is_left_alone

LAST_LINES_S = 30.0
CLIENT_GRACE_S = 2.0
MAY_BE_LEFT = (
    "Whether its server is left is not known: `./pitwall shim stop {0}` over there ends it, and Pitwall does when {1} "
    "answers again. {2}"
)


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
        tidy_there(asked.host, asked.run.id)
    return join([workload, there[0], client]), there[1]


def _stop_there(asked: Asked, directory: Path, grace_s: float) -> Stopped | None:
    """What stopping it did; None where nothing was ever started, and the host may be away."""
    if not read_known(directory).is_asked:
        return None
    left = Left(host=asked.host, run_id=asked.run.id, is_left_alone=is_left_alone(directory))
    try:
        stopped = stop_there(left, grace_s)
    except HostError as error:
        note_left(directory.parent, left)
        return StopReport(leftovers=(MAY_BE_LEFT.format(asked.run.id, asked.host.label, error),)), None
    forget_left(directory.parent, asked.run.id)
    return stopped


def _is_through(directory: Path) -> bool:
    """Whether the last line of the log is here, or will never be."""
    return read_known(directory).exit is not None or server_process(directory) is None
