"""Stops a run on another machine: first the server there, then its client here."""

from __future__ import annotations

from pathlib import Path

from domain import Run
from launcher.client_processes import stop_clients
from launcher.processes.process import server_process
from launcher.processes.stopping import StopReport, join, stop_process, wait_until
from launcher.remote.hosts import HostError
from launcher.remote.orphans import (
    OrphanNote,
    delete_orphan_note,
    remove_remote_folder,
    stop_on_host,
    write_orphan_note,
)
from launcher.remote.records import RemoteLaunch, read_remote_launch, read_remote_status
from launcher.teardown import StopResult, is_left_alone

LAST_LINES_S = 30.0
CLIENT_GRACE_S = 2.0
MAY_BE_LEFT = (
    "Its server may still be running: `./pitwall shim stop {0}` on that machine ends it, and Pitwall does so when {1} "
    "answers again. {2}"
)


def stop_remote(run: Run, grace_s: float) -> StopResult:
    """End all processes of a run on another machine; blocks until they have ended."""
    assert run.run_dir
    directory = Path(run.run_dir)
    launch = read_remote_launch(directory)
    workload = stop_clients(directory)
    remote_result = _stop_on_host(launch, directory, grace_s)
    is_over = remote_result is not None and remote_result[0].is_clean
    if is_over:
        wait_until(lambda: _is_log_complete(directory), LAST_LINES_S)
    client = StopReport(leftovers=stop_process(directory, CLIENT_GRACE_S).leftovers)
    if not is_over:  # started by the client in the meantime
        remote_result = _stop_on_host(launch, directory, grace_s)
    if remote_result is None:
        return join([workload, client]), None
    if remote_result[0].is_clean:
        remove_remote_folder(launch.host, launch.run.id)
    return join([workload, remote_result[0], client]), remote_result[1]


def _stop_on_host(launch: RemoteLaunch, directory: Path, grace_s: float) -> StopResult | None:
    """Stop the server on the host; None if nothing was ever started, so that the host need not answer."""
    if not read_remote_status(directory).is_asked:
        return None
    note = OrphanNote(host=launch.host, run_id=launch.run.id, is_left_alone=is_left_alone(directory))
    try:
        result = stop_on_host(note, grace_s)
    except HostError as error:
        write_orphan_note(directory.parent, note)
        return StopReport(leftovers=(MAY_BE_LEFT.format(launch.run.id, launch.host.label, error),)), None
    delete_orphan_note(directory.parent, launch.run.id)
    return result


def _is_log_complete(directory: Path) -> bool:
    """Whether the last line of the log has arrived, or will never arrive."""
    return read_remote_status(directory).exit is not None or server_process(directory) is None
