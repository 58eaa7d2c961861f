"""Checks of a prepared launch, run before anything is started."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from commands.gpus import CONTAINER_LAUNCHERS
from commands.secrets import with_secrets_in
from domain import Config, Run
from launcher.checks.launch_request import LaunchRefusedError, expand_home, port_of
from launcher.checks.prepared_launch import PreparedLaunch
from launcher.processes.runtimes import ContainerBackend, backend_of
from machine.ports import describe_busy_port, is_port_free

CONTAINERS_S = 4.0  # for all queries to a container runtime before a start


def check_files(launch: PreparedLaunch) -> None:
    """Raise LaunchRefusedError for a folder, program or model that this machine lacks; a hanging disk blocks."""
    cwd, request = launch.cwd, launch.request
    if not (path_exists(cwd) and cwd.is_dir()):
        raise LaunchRefusedError(f"The working directory {cwd} does not exist: create it, or choose another.")
    check_executable(launch.config, cwd)
    if not request.makes_model:
        check_model(launch.config, cwd, request.secrets)


def check_machine(launch: PreparedLaunch) -> list[str]:
    """Check a launch that another Pitwall recorded; raises LaunchRefusedError.

    Return one sentence for each check that a container runtime did not answer within its limit.
    """
    check_files(launch)
    check_port(launch.port, launch.config.host, [])
    return [limit for limit in check_containers([launch]) if limit]


def path_exists(path: Path) -> bool:
    """Whether the path exists; raises LaunchRefusedError if this user may not look."""
    try:
        return path.exists()
    except OSError as error:
        raise LaunchRefusedError(f"Pitwall cannot check whether {path} exists: {error.strerror}.") from error


def check_executable(config: Config, cwd: Path) -> None:
    """Check that the first word is an executable program, found as the shim will find it."""
    word = config.argv[0]
    if "/" in word:
        path = cwd / word
        if not path_exists(path):
            raise LaunchRefusedError(f"The executable {path} does not exist: install it, or give its path.")
        if path.is_dir() or not os.access(path, os.X_OK):
            raise LaunchRefusedError(f"{path} is not executable: allow it with chmod +x, or name another.")
    elif not shutil.which(word, path=config.env.get("PATH")):
        raise LaunchRefusedError(f"The executable {word} was not found on the PATH: install it, or give its full path.")


def check_model(config: Config, cwd: Path, secrets: Mapping[str, str]) -> None:
    """Check that models named by a path on this machine exist; hub names and paths in containers are not checked."""
    if config.launcher in CONTAINER_LAUNCHERS:
        return
    drafter = config.speculative.model if config.speculative else None
    for model in filter(None, (config.model, drafter)):
        path = with_secrets_in(model, config, secrets)
        is_path = path.startswith(("/", "./", "../", "~")) or path.endswith(".gguf")
        if is_path and not path_exists(cwd / expand_home(path)):
            raise LaunchRefusedError(
                f"The model {model} does not exist: give a path on this machine, or a name on a model hub."
            )


def check_port(port: int, host: str | None, live_runs: Sequence[Run]) -> None:
    """Check that the port is free and not reserved by a run that has not opened it yet."""
    at_port = [run for run in live_runs if run.base_url and port_of(run.base_url) == port]
    for run in at_port:
        if run.kind == "launched":
            owner = f"Port {port} belongs to the run '{run.name}', which is {run.state.value}"
            raise LaunchRefusedError(f"{owner}: choose another port, or queue this run behind it.")
    if not is_port_free(port, host):
        watched = "".join(f" Pitwall watches it as the run '{run.name}'." for run in at_port[:1])
        raise LaunchRefusedError(f"{describe_busy_port(port)}{watched} Stop it, or choose another port.")


def check_containers(launches: Sequence[PreparedLaunch], within_s: float = CONTAINERS_S) -> list[str | None]:
    """Check that container names are free on this machine; return for each launch the exceeded limit, if any.

    A user waits, so all queries share `within_s`, and a runtime that exceeded a limit is not queried again. A missed
    name clash does no harm: the runtime refuses to start the container, and the run fails with that message.
    """
    limits: list[str | None] = []
    deadline_s, passed = time.monotonic() + within_s, list[str]()
    for launch in launches:
        backend = backend_of(launch.config, "", launch.is_here, passed.append)
        remaining_s = max(round(deadline_s - time.monotonic(), 1), 0.1)
        if not passed and (obstacle := backend.find_obstacle(launch.config.argv, remaining_s)):
            raise LaunchRefusedError(obstacle)
        has_runtime = isinstance(backend, ContainerBackend) and backend.is_here
        limits.append(passed[0] if passed and has_runtime else None)
    return limits
