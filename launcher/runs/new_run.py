"""Records and start files of new runs."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from commands.naming import RunNaming
from commands.secrets import find_api_key, take_secrets
from domain import Config, Run, RunState, new_run_id
from launcher.checks.addresses import default_ready_path
from launcher.checks.launch_request import LaunchRefusedError
from launcher.checks.prepared_launch import PreparedLaunch
from launcher.processes.process import SERVER_LOG, ProcessSpec, write_spec
from launcher.processes.runtimes import leftovers_of
from machine import open_files
from machine.private_files import make_private, private_folder
from machine.process_start import process_start_s
from redaction import SERVER_API_KEY

_VARIABLE = re.compile(r"[A-Za-z_]\w*")


def new_run(launch: PreparedLaunch, runs_dir: Path, now: datetime, machine: str, naming: RunNaming) -> Run:
    """Return the record of a run to launch, with masked secrets."""
    run_id, request = new_run_id(now), launch.request
    config, _ = take_secrets(request.config)
    directory = runs_dir / run_id
    return Run(
        id=run_id,
        name=naming.choose_name(config, request.name),
        color=naming.choose_color(config) if request.color is None else request.color,
        config=config,
        workload=request.workload,
        later_workloads=request.later_workloads,
        arm=request.arm,
        round=request.round,
        round_seed=request.round_seed,
        stop_when_done=request.stop_when_done,
        machine_id=machine,
        run_dir=str(directory),
        log_path=str(directory / SERVER_LOG),
        base_url=launch.base_url.rstrip("/"),
        ready_path=request.ready_path or default_ready_path(config),
        ready_timeout_s=request.ready_timeout_s,
        created_at=now,
    )


def new_attached_run(
    base_url: str, config: Config, now: datetime, machine: str, naming: RunNaming, name: str | None
) -> Run:
    """Return the record of a server that is already running."""
    config, _ = take_secrets(config)
    return Run(
        id=new_run_id(now),
        name=naming.choose_name(config, name),
        color=naming.choose_color(config),
        kind="attached",
        state=RunState.STARTING,
        config=config,
        stop_when_done=False,
        machine_id=machine,
        base_url=base_url,
        ready_path=default_ready_path(config),
        created_at=now,
    )


def write_start_files(run: Run, launch: PreparedLaunch) -> dict[str, str]:
    """Write the run's spec.json; return the secrets that its start needs, by variable."""
    assert run.run_dir
    hidden = launch.hide_secrets(run.id)
    directory = private_folder(Path(run.run_dir))
    # The limit of the user's shell: a server that needs more raises it itself, as vLLM does.
    spec = ProcessSpec(
        hidden.argv,
        str(launch.cwd),
        hidden.env,
        leftovers=leftovers_of(launch.config),
        port=launch.port,
        open_files=open_files.LIMIT_AT_START,
    )
    write_spec(spec, directory)
    make_private(directory / "spec.json")
    secrets = launch.request.secrets
    variables = {name: value for name, value in secrets.items() if _VARIABLE.fullmatch(name)}
    api_key = find_api_key(hidden)
    return {**variables, **hidden.secrets, **({SERVER_API_KEY: api_key} if api_key else {})}


def process_identity(pid: int | None) -> dict[str, Any]:
    """Return the Run fields that identify a process, unlike a later one with its pid; raises LaunchRefusedError."""
    if pid is None:
        return {}
    try:
        start_s, started_at = process_start_s(pid), psutil.Process(pid).create_time()
    except psutil.NoSuchProcess as error:
        raise LaunchRefusedError(f"There is no process {pid}.") from error
    start_time = datetime.fromtimestamp(started_at, UTC)
    return {"pid": pid, "pid_birth_s": start_s, "pid_started_at": started_at, "started_at": start_time}
