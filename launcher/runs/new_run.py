"""New runs: their record, and the files that their start needs."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from commands.naming import KnownRuns
from commands.paste.servers import SHELLS, basename
from commands.secrets import find_api_key, hide_secrets, take_secrets
from domain import Config, Run, RunState, new_run_id
from launcher.checks.addresses import default_base_url, default_ready_path
from launcher.checks.preflight import LaunchRefusedError, LaunchRequest, port_of, working_directory
from launcher.processes.process import Leftovers, ProcessSpec, write_spec
from launcher.processes.runtimes import ContainerBackend, backend_of
from machine import open_files
from machine.private_files import make_private, private_folder
from machine.process_start import process_start_s
from redaction import SERVER_API_KEY

SERVER_LOG = "server.log"
_VARIABLE = re.compile(r"[A-Za-z_]\w*")


def new_run(request: LaunchRequest, runs_dir: Path, now: datetime, machine: str, known: KnownRuns) -> Run:
    """The record of a run to be launched, its secrets masked."""
    run_id = new_run_id(now)
    config, _ = take_secrets(request.config)
    directory = runs_dir / run_id
    return Run(
        id=run_id,
        name=known.choose_name(config, request.name),
        color=known.choose_color(),
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
        base_url=(request.base_url or default_base_url(config) or "").rstrip("/"),
        ready_path=request.ready_path or default_ready_path(config),
        ready_timeout_s=request.ready_timeout_s,
        created_at=now,
    )


def attached_run(base_url: str, config: Config, now: datetime, machine: str, known: KnownRuns, name: str | None) -> Run:
    """The record of a server that runs already."""
    config, _ = take_secrets(config)
    return Run(
        id=new_run_id(now),
        name=known.choose_name(config, name),
        color=known.choose_color(),
        kind="attached",
        state=RunState.STARTING,
        config=config,
        stop_when_done=False,
        machine_id=machine,
        base_url=base_url,
        ready_path=default_ready_path(config),
        created_at=now,
    )


def lay_down(run: Run, request: LaunchRequest) -> dict[str, str]:
    """Write the run's spec.json; the secrets that its start needs, by environment variable."""
    assert run.run_dir
    words = backend_of(request.config, run.id).words(request.config.argv)
    hidden = hide_secrets(words, request.config.env, request.secrets, os.environ)
    directory = private_folder(Path(run.run_dir))
    # The limit that the user's own shell gives: a server that needs more raises it by itself, as vLLM does.
    spec = ProcessSpec(
        hidden.argv,
        str(working_directory(request)),
        hidden.env,
        leftovers=leftovers_of(request.config),
        port=port_of(run.base_url) if run.base_url else None,
        open_files=open_files.AT_START,
    )
    write_spec(spec, directory)
    make_private(directory / "spec.json")
    variables = {name: value for name, value in request.secrets.items() if _VARIABLE.fullmatch(name)}
    api_key = find_api_key(hidden)
    return {**variables, **hidden.secrets, **({SERVER_API_KEY: api_key} if api_key else {})}


def leftovers_of(config: Config) -> Leftovers:
    """What becomes of what the first process leaves, see `ProcessSpec`."""
    if isinstance(backend_of(config, ""), ContainerBackend):
        return "leave"
    return "follow" if basename(config.argv[0]) in SHELLS or config.launcher == "script" else "end"


def identity(pid: int | None) -> dict[str, Any]:
    """The fields of a Run that identify a process, not a later one of its pid; raises LaunchRefusedError if gone."""
    if pid is None:
        return {}
    try:
        start_s, started_at = process_start_s(pid), psutil.Process(pid).create_time()
    except psutil.NoSuchProcess as error:
        raise LaunchRefusedError(f"There is no process {pid}.") from error
    moment = datetime.fromtimestamp(started_at, UTC)
    return {"pid": pid, "pid_birth_s": start_s, "pid_started_at": started_at, "started_at": moment}
