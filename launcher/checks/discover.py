"""Servers that run on this machine already, whoever started them: processes, and podman or docker containers.

They are only read, never signalled. What cannot be seen is left out: another user's process, a docker daemon that
does not answer.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath

import psutil

from commands.explain import explain
from commands.secrets import distinctive, mask_argv, values_of
from domain import Config
from engines import BY_NAME
from launcher.checks.addresses import default_base_url
from launcher.processes.containers import Container, Passed, list_containers, unheard
from launcher.processes.process import environ_of
from launcher.processes.shim import MARKER
from machine.ports import server_at
from machine.process_start import all_processes

OUTPUTS = (2, 1)  # servers log to standard error, some to standard output


@dataclass(frozen=True, slots=True)
class FoundServer:
    """One running server, with what the system reveals of it; secrets in `config` are masked."""

    engine: str
    model: str | None
    base_url: str | None
    pid: int | None
    started_at: datetime | None
    log_path: Path | None  # where its output goes, if that is a file
    container: str | None
    metrics: bool | None  # whether /metrics is switched on; None where that is not known
    run_id: str | None  # the run of ours that it is
    config: Config


def find_servers(passed: Passed = unheard) -> list[FoundServer]:
    """Every server of an engine we know on this machine, containers first."""
    processes = {process.pid: process for process in all_processes()}
    ports = listening_ports(processes.values())
    contained: set[int] = set()
    found = []
    for container in list_containers(passed):
        inside = family(container.pid, processes)
        contained.update(inside)
        config = read_command(container.argv)
        if config:
            found.append(_in_container(container, config))
    for pid in sorted(processes.keys() - contained):
        server = _as_process(processes[pid], processes, ports)
        if server:
            found.append(server)
    inner = {pid for one in found if one.container is None for pid in family(one.pid, processes) - {one.pid}}
    return [one for one in found if one.container or one.pid not in inner]


def find_server_at(base_url: str, passed: Passed = unheard) -> FoundServer | None:
    """The server that answers at this URL, if it is on this machine and visible to this user."""
    wanted = server_at(base_url)
    return next((one for one in find_servers(passed) if one.base_url and server_at(one.base_url) == wanted), None)


def read_command(argv: Sequence[str]) -> Config | None:
    """The config that a running command states; None when it is not a server that we know."""
    explanation = explain(shlex.join(plain_command(argv))) if argv else None
    config = explanation.config if explanation else None
    if config is None or config.engine not in BY_NAME:
        return None
    known = distinctive(values_of(argv).values())
    return config.model_copy(update={"launcher": "attach", "argv": tuple(mask_argv(argv, known))})


def plain_command(argv: Sequence[str]) -> list[str]:
    """The command as a person would type it: no interpreter before an installed script."""
    words = list(argv)
    is_python = PurePath(words[0]).name.startswith("python")
    if is_python and len(words) > 1 and words[1].startswith("/") and not words[1].endswith(".py"):
        words = words[1:]
    return [PurePath(words[0]).name, *words[1:]] if words[0].startswith("/") else words


def family(pid: int | None, processes: Mapping[int, psutil.Process]) -> set[int]:
    """The process and all its descendants."""
    if pid is None or pid not in processes:
        return set()
    with suppress(psutil.Error):
        return {pid, *(child.pid for child in processes[pid].children(recursive=True))}
    return set()


def listening_ports(processes: Iterable[psutil.Process]) -> dict[int, set[int]]:
    """Per process the TCP ports on which it listens."""
    ports: dict[int, set[int]] = defaultdict(set)
    for process in processes:
        with suppress(psutil.Error, OSError):
            listening = [c for c in process.net_connections(kind="tcp") if c.status == psutil.CONN_LISTEN]
            ports[process.pid].update(connection.laddr.port for connection in listening)
    return ports


def _as_process(
    process: psutil.Process, processes: Mapping[int, psutil.Process], ports: Mapping[int, set[int]]
) -> FoundServer | None:
    with suppress(psutil.Error, OSError):
        config = read_command(process.cmdline())
        if config is None or process.status() == psutil.STATUS_ZOMBIE:
            return None
        own_ports = {port for pid in family(process.pid, processes) for port in ports.get(pid, ())}
        return FoundServer(
            engine=config.engine,
            model=config.served_model_name or config.model,
            base_url=_base_url(config, own_ports),
            pid=process.pid,
            started_at=datetime.fromtimestamp(process.create_time(), UTC),
            log_path=output_file(process),
            container=None,
            metrics=has_metrics(config),
            run_id=environ_of(process).get(MARKER),
            config=config,
        )
    return None


def _in_container(container: Container, config: Config) -> FoundServer:
    port = config.port or BY_NAME[config.engine].default_port
    outside = container.published_port(port) if port else None
    return FoundServer(
        engine=config.engine,
        model=config.served_model_name or config.model,
        base_url=f"http://127.0.0.1:{outside}" if outside else None,
        pid=container.pid,
        started_at=container.started_at,
        log_path=container.log_path,
        container=container.name,
        metrics=has_metrics(config),
        run_id=None,
        config=config.model_copy(update={"image": container.image}),
    )


def _base_url(config: Config, ports: set[int]) -> str | None:
    """Where it answers: the port it states if it listens there or we cannot see, else the only one it listens on."""
    stated = default_base_url(config)
    port = config.port or BY_NAME[config.engine].default_port
    if not ports or port in ports:
        return stated
    return default_base_url(config.model_copy(update={"port": min(ports)})) if len(ports) == 1 else None


def has_metrics(config: Config) -> bool | None:
    """Whether the server was started with its /metrics on."""
    engine = BY_NAME[config.engine]
    if engine.metrics_path is None or engine.counters is None:
        return None
    switch = engine.switches.get(engine.metrics_path)
    return switch is None or switch in config.argv


def output_of(pid: int | None) -> Path | None:
    """The file of this machine that the process with this pid writes its output to."""
    with suppress(psutil.NoSuchProcess):
        return output_file(psutil.Process(pid)) if pid is not None else None
    return None


def output_file(process: psutil.Process) -> Path | None:
    """The regular file that the process writes its output to."""
    with suppress(psutil.Error, OSError):
        open_files = {file.fd: file.path for file in process.open_files()}
        return next((Path(open_files[fd]) for fd in OUTPUTS if fd in open_files), None)
    return None
