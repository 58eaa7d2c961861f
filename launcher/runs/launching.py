"""A launch on this machine, or by ssh on another: its checks, its record, its files and its state machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from commands.naming import KnownRuns
from domain import Run
from launcher.checks.preflight import (
    LaunchRefusedError,
    LaunchRequest,
    answering_url,
    check_command,
    check_port,
    check_request,
    expanded,
    port_of,
)
from launcher.remote.hosts import Host, HostBook, HostError
from launcher.remote.laying import lay_down_remote, on_host
from launcher.runs.new_run import lay_down, new_run
from launcher.runs.resource_claims import claim_of
from launcher.runs.supervised_runs.dependencies import Dependencies
from launcher.runs.supervised_runs.launched_run import LaunchedRun
from launcher.runs.supervised_runs.remote_run import RemoteRun

ID_STEP = timedelta(milliseconds=1)  # what an id distinguishes: those of a batch sort as it was given


def check_alone(request: LaunchRequest) -> None:
    """Raise LaunchRefusedError for what is wrong whatever else runs; of another machine only it knows what it lacks."""
    if request.on_host is None:
        check_request(expanded(request))
    else:
        check_command(request)


def check_room(request: LaunchRequest, live: Sequence[Run]) -> None:
    """Raise LaunchRefusedError where its port is taken, or promised to one of these runs."""
    if request.on_host is None:
        filled = expanded(request)
        return check_port(port_of(answering_url(filled)), filled.config.host, live)
    port = port_of(answering_url(request))
    for run in live:
        if run.on_host == request.on_host and claim_of(run).port == port:
            taken = f"Port {port} of {run.on_host} belongs to the run '{run.name}', which is {run.state.value}"
            raise LaunchRefusedError(f"{taken}: choose another port, or queue this run behind it.")
    return None


class Site(NamedTuple):
    """Where runs are made, and what that is called."""

    runs_dir: Path
    clock: Callable[[], datetime]
    machine: str
    hosts: HostBook | None


def make_runs(
    requests: Sequence[LaunchRequest], place: float | None, promised: Sequence[Run], known: KnownRuns, site: Site
) -> Iterator[Run]:
    """The records of runs that belong together, each checked alone before; raises LaunchRefusedError.

    From `place` on in the queue; without one they start at once, where those of the `promised` runs leave them room.
    """
    made: list[Run] = []
    for request in requests:
        if place is None:
            check_room(request, [*promised, *made])
        now = max([site.clock(), *(run.created_at + ID_STEP for run in made[-1:])])
        run = make_run(request, site.runs_dir, now, site.machine, known, site.hosts)
        made.append(run.model_copy(update={"queue_position": None if place is None else place + len(made)}))
        known.add(made[-1])
        yield made[-1]


def make_run(
    request: LaunchRequest, runs_dir: Path, now: datetime, machine: str, known: KnownRuns, hosts: HostBook | None
) -> Run:
    """The record of a run to be launched, its secrets masked; raises LaunchRefusedError."""
    run = new_run(request, runs_dir, now, machine, known)
    return on_host(run, request, _host(request.on_host, hosts), known.live) if request.on_host else run


def lay_down_run(run: Run, request: LaunchRequest, hosts: HostBook | None) -> dict[str, str]:
    """Write what its start needs; the secrets of it, by environment variable. Raises LaunchRefusedError, OSError."""
    if request.on_host is None:
        return lay_down(run, expanded(request))
    return lay_down_remote(run, request, _host(request.on_host, hosts))


def new_supervised(run: Run, request: LaunchRequest, deps: Dependencies, hosts: HostBook | None) -> LaunchedRun:
    """A new run to supervise, its start laid down; raises LaunchRefusedError."""
    try:
        return supervised_of(run, deps, lay_down_run(run, request, hosts))
    except OSError as error:
        reason = f"{error.strerror} ({error.filename})"
        raise LaunchRefusedError(f"The run directory cannot be written: {reason}.") from error


def supervised_of(run: Run, deps: Dependencies, secrets: Mapping[str, str], was_adopted: bool = False) -> LaunchedRun:
    """A launched run to supervise, which begins or goes on."""
    kind = RemoteRun if run.on_host else LaunchedRun
    return kind(run, deps, secrets, was_adopted)


def _host(label: str, hosts: HostBook | None) -> Host:
    if hosts is None:
        raise LaunchRefusedError(f"There is no host {label}.")
    try:
        return hosts.host(label)
    except HostError as error:
        raise LaunchRefusedError(str(error)) from error
