"""Launches on this machine or over ssh on another: checks, records, start files and state machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from commands.naming import RunNaming
from domain import Run
from launcher.checks.launch_request import LaunchRefusedError, LaunchRequest
from launcher.checks.preflight import check_files, check_port
from launcher.checks.prepared_launch import PreparedLaunch, prepare_launch
from launcher.remote.hosts import Host, HostBook, HostError
from launcher.remote.run_folder import with_host, write_remote_start_files
from launcher.runs.new_run import new_run, write_start_files
from launcher.runs.resource_claims import claim_of
from launcher.runs.supervised_runs.dependencies import Dependencies
from launcher.runs.supervised_runs.launched_run import LaunchedRun
from launcher.runs.supervised_runs.remote_run import RemoteRun

ID_STEP = timedelta(milliseconds=1)  # resolution of an id; ids of a batch sort in its order


def prepare_and_check(request: LaunchRequest) -> PreparedLaunch:
    """Prepare the request and check its files; another machine checks its own files at the start.

    Raises LaunchRefusedError.
    """
    launch = prepare_launch(request)
    if launch.is_here:
        check_files(launch)
    return launch


def check_launch_port(launch: PreparedLaunch, live_runs: Sequence[Run]) -> None:
    """Raise LaunchRefusedError if its port is taken, or reserved by one of these runs."""
    if launch.is_here:
        return check_port(launch.port, launch.config.host, live_runs)
    host = launch.request.on_host
    for run in live_runs:
        if run.on_host == host and claim_of(run).port == launch.port:
            owner = f"Port {launch.port} of {host} belongs to the run '{run.name}', which is {run.state.value}"
            raise LaunchRefusedError(f"{owner}: choose another port, or queue this run behind it.")
    return None


class LaunchSite(NamedTuple):
    """Folder, clock, machine id and hosts with which runs are created."""

    runs_dir: Path
    clock: Callable[[], datetime]
    machine: str
    hosts: HostBook | None


def make_runs(
    launches: Sequence[PreparedLaunch],
    queue_position: float | None,
    reserving_runs: Sequence[Run],
    known_runs: RunNaming,
    site: LaunchSite,
) -> Iterator[Run]:
    """Yield the records of runs that belong together; raises LaunchRefusedError.

    With a `queue_position` they are queued from there on; without one they start now, unless `reserving_runs` conflict.
    """
    runs: list[Run] = []
    for launch in launches:
        if queue_position is None:
            check_launch_port(launch, [*reserving_runs, *runs])
        now = max([site.clock(), *(run.created_at + ID_STEP for run in runs[-1:])])
        run = _new_run_record(launch, now, known_runs, site)
        position = None if queue_position is None else queue_position + len(runs)
        runs.append(run.model_copy(update={"queue_position": position}))
        known_runs.add(runs[-1])
        yield runs[-1]


def _new_run_record(launch: PreparedLaunch, now: datetime, known_runs: RunNaming, site: LaunchSite) -> Run:
    """Return the record of a run to launch, with masked secrets; raises LaunchRefusedError."""
    run = new_run(launch, site.runs_dir, now, site.machine, known_runs)
    if launch.request.on_host is None:
        return run
    return with_host(run, launch, _find_host(launch.request.on_host, site.hosts), known_runs.live)


def new_supervised_run(run: Run, launch: PreparedLaunch, deps: Dependencies, hosts: HostBook | None) -> LaunchedRun:
    """Write the start files of a new run and return it for supervision; raises LaunchRefusedError."""
    try:
        return supervise(run, deps, _write_start_files(run, launch, hosts))
    except OSError as error:
        reason = f"{error.strerror} ({error.filename})"
        raise LaunchRefusedError(f"The run directory cannot be written: {reason}.") from error


def _write_start_files(run: Run, launch: PreparedLaunch, hosts: HostBook | None) -> dict[str, str]:
    """Write the start files; return the start's secrets by variable. Raises LaunchRefusedError, OSError."""
    if launch.request.on_host is None:
        return write_start_files(run, launch)
    return write_remote_start_files(run, launch, _find_host(launch.request.on_host, hosts))


def supervise(run: Run, deps: Dependencies, secrets: Mapping[str, str], was_adopted: bool = False) -> LaunchedRun:
    """Return a launched run for supervision, new or adopted."""
    kind = RemoteRun if run.on_host else LaunchedRun
    return kind(run, deps, secrets, was_adopted)


def _find_host(label: str, hosts: HostBook | None) -> Host:
    if hosts is None:
        raise LaunchRefusedError(f"There is no host {label}.")
    try:
        return hosts.find(label)
    except HostError as error:
        raise LaunchRefusedError(str(error)) from error
