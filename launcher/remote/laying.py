"""Writes the local run folder of a run on another machine, before its client is started."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from commands.secrets import find_api_key, hide_secrets
from domain import Run
from launcher.checks.preflight import LaunchRefusedError, LaunchRequest, answering_url
from launcher.processes.process import ROOT, ProcessSpec, write_spec
from launcher.remote.hosts import ADDRESS, Host
from launcher.remote.records import Asked, write_asked
from machine.identity import REMOTE
from machine.ports import dial_host, host_and_port, is_port_free
from machine.private_files import make_private, private_folder
from redaction import SERVER_API_KEY

FORWARDED_PORTS = range(20_000, 32_000)  # below those that the system hands out
CLIENT = (sys.executable, "-m", "launcher.remote.client")


def on_host(run: Run, request: LaunchRequest, host: Host, taken: Iterable[Run]) -> Run:
    """The run as it is known here: on the host's machine, its server reached by an address of this one."""
    there = answering_url(request)
    _, port = host_and_port(there)
    scheme = urlsplit(there).scheme
    here = f"{_in_url(host.address)}:{port}" if host.address else f"127.0.0.1:{_free_port(taken)}"
    place = {
        "base_url": f"{scheme}://{here}",
        "machine_id": host.machine_id or f"{REMOTE}{host.target.rpartition('@')[2]}",
        "provenance": {"on_host": host.label, "reached": "by its address" if host.address else "through ssh"},
    }
    return run.model_copy(update=place)


def _in_url(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _free_port(taken: Iterable[Run]) -> int:
    """A port for the forwarded connection that nothing listens on and no run is promised."""
    promised = {host_and_port(run.base_url)[1] for run in taken if run.base_url}
    for port in random.sample(FORWARDED_PORTS, 200):
        if port not in promised and is_port_free(port):
            return port
    raise LaunchRefusedError("No free port was found on this machine for the connection to the server.")


def lay_down_remote(run: Run, request: LaunchRequest, host: Host) -> dict[str, str]:
    """Write what the client needs; the secrets of the start, by environment variable. Raises LaunchRefusedError."""
    assert run.run_dir and run.base_url
    config, there = request.config, answering_url(request)
    hidden = hide_secrets(config.argv, config.env, request.secrets, os.environ)
    variables = {name: value for name, value in request.secrets.items() if name.isidentifier()}
    secrets = {**variables, **hidden.secrets}
    directory = private_folder(Path(run.run_dir))
    spoken = run.config.model_copy(update={"argv": tuple(hidden.argv), "env": hidden.env})
    over = run.model_copy(update={"config": spoken, "base_url": there, "run_dir": None, "log_path": None})
    asked = Asked(
        host=host,
        run=over.model_copy(update={"provenance": None}),
        cwd=str(request.cwd) if request.cwd else None,
        makes_model=request.makes_model,
        forward=None if host.address else _forward(run.base_url, there),
        secret_names=tuple(secrets),
    )
    write_asked(directory, asked)
    write_spec(ProcessSpec([*CLIENT, str(directory)], str(ROOT)), directory)
    make_private(directory / "spec.json")
    api_key = find_api_key(hidden)
    return {**secrets, **({SERVER_API_KEY: api_key} if api_key else {})}


def _forward(here: str, there: str) -> str:
    """'127.0.0.1:20001:127.0.0.1:8000' as `ssh -L` takes it."""
    host, port = host_and_port(there)
    target = dial_host(host)
    if not ADDRESS.fullmatch(target):
        raise LaunchRefusedError(f"'{host}' is no address that a server can listen on.")
    return f"127.0.0.1:{host_and_port(here)[1]}:{_in_url(target)}:{port}"
