"""Writes the local run folder of a run on another machine, before its client is started."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from commands.secrets import find_api_key
from domain import Run
from launcher.checks.launch_request import LaunchRefusedError
from launcher.checks.prepared_launch import PreparedLaunch
from launcher.processes.process import ROOT, ProcessSpec, write_spec
from launcher.remote.hosts import ADDRESS, Host
from launcher.remote.records import RemoteLaunch, write_remote_launch
from machine.identity import REMOTE
from machine.ports import dial_host, host_and_port, is_port_free
from machine.private_files import make_private, private_folder
from redaction import SERVER_API_KEY

FORWARDED_PORTS = range(20_000, 32_000)  # below the ephemeral ports
CLIENT = (sys.executable, "-m", "launcher.remote.client")


def with_host(run: Run, launch: PreparedLaunch, host: Host, live_runs: Iterable[Run]) -> Run:
    """Return the run as recorded locally: on the host's machine, with the URL by which this machine reaches it."""
    scheme = urlsplit(launch.base_url).scheme
    local_address = f"{_in_url(host.address)}:{launch.port}" if host.address else f"127.0.0.1:{_free_port(live_runs)}"
    update = {
        "base_url": f"{scheme}://{local_address}",
        "machine_id": host.machine_id or f"{REMOTE}{host.target.rpartition('@')[2]}",
        "provenance": {"on_host": host.label, "reached": "by its address" if host.address else "through ssh"},
    }
    return run.model_copy(update=update)


def _in_url(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _free_port(live_runs: Iterable[Run]) -> int:
    """Return a port for the forwarded connection that is free and not reserved by a run."""
    reserved_ports = {host_and_port(run.base_url)[1] for run in live_runs if run.base_url}
    for port in random.sample(FORWARDED_PORTS, 200):
        if port not in reserved_ports and is_port_free(port):
            return port
    raise LaunchRefusedError("No free port was found on this machine for the connection to the server.")


def write_remote_start_files(run: Run, launch: PreparedLaunch, host: Host) -> dict[str, str]:
    """Write the client's files; return the secrets of the start by variable. Raises LaunchRefusedError, OSError."""
    assert run.run_dir and run.base_url
    request, hidden = launch.request, launch.hide_secrets(run.id)
    variables = {name: value for name, value in request.secrets.items() if name.isidentifier()}
    secrets = {**variables, **hidden.secrets}
    directory = private_folder(Path(run.run_dir))
    hidden_config = run.config.model_copy(update={"argv": tuple(hidden.argv), "env": hidden.env})
    remote_run = run.model_copy(
        update={"config": hidden_config, "base_url": launch.base_url, "run_dir": None, "log_path": None}
    )
    remote_launch = RemoteLaunch(
        host=host,
        run=remote_run.model_copy(update={"provenance": None}),
        cwd=str(request.cwd) if request.cwd else None,
        makes_model=request.makes_model,
        forward=None if host.address else _forward(run.base_url, launch.base_url),
        secret_names=tuple(secrets),
    )
    write_remote_launch(directory, remote_launch)
    write_spec(ProcessSpec([*CLIENT, str(directory)], str(ROOT)), directory)
    make_private(directory / "spec.json")
    api_key = find_api_key(hidden)
    return {**secrets, **({SERVER_API_KEY: api_key} if api_key else {})}


def _forward(local_url: str, remote_url: str) -> str:
    """Return '127.0.0.1:20001:127.0.0.1:8000', the argument of `ssh -L`."""
    host, port = host_and_port(remote_url)
    target = dial_host(host)
    if not ADDRESS.fullmatch(target):
        raise LaunchRefusedError(f"'{host}' is not an address that a server can listen on.")
    return f"127.0.0.1:{host_and_port(local_url)[1]}:{_in_url(target)}:{port}"
