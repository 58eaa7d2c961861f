"""Discovers running servers on this machine, whoever started them: processes, and podman or docker containers.

They are only read, never signalled. Invisible ones are left out: other users' processes, a docker daemon that does not
answer.
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
from launcher.processes.containers import ReportLimit, RunningContainer, ignore_limit, list_containers
from launcher.processes.process import environ_of
from launcher.processes.shim import MARKER
from machine.ports import server_at
from machine.process_start import all_processes

OUTPUTS = (2, 1)  # servers log to standard error, some to standard output


@dataclass(frozen=True, slots=True)
class FoundServer:
    """One running server, as far as the system reveals it; secrets in `config` are masked."""

    engine: str
    model: str | None
    base_url: str | None
    pid: int | None
    started_at: datetime | None
    log_path: Path | None  # file that its output goes to; None: not a file, or unknown
    container: str | None
    metrics: bool | None  # whether /metrics is switched on; None: unknown
    run_id: str | None  # the Pitwall run that started it
    config: Config

    @property
    def is_router(self) -> bool:
        """Whether it only starts servers, one for each model."""
        return is_router(self.config)


def find_servers(report_limit: ReportLimit = ignore_limit) -> list[FoundServer]:
    """Return every server of a known engine on this machine, containers first."""
    processes = {process.pid: process for process in all_processes()}
    ports = listening_ports(processes.values())
    contained: set[int] = set()
    servers = []
    for container in list_containers(report_limit):
        container_pids = family(container.pid, processes)
        contained.update(container_pids)
        config = read_command(container.argv)
        if config:
            servers.append(_in_container(container, config))
    for pid in sorted(processes.keys() - contained):
        server = _as_process(processes[pid], processes, ports)
        if server:
            servers.append(server)
    child_pids = {
        pid
        for server in servers
        if server.container is None and not server.is_router
        for pid in family(server.pid, processes) - {server.pid}
    }
    return [server for server in servers if server.container or server.pid not in child_pids]


def find_server_at(base_url: str, report_limit: ReportLimit = ignore_limit) -> FoundServer | None:
    """Return the server that answers at this URL, if it is on this machine and visible to this user."""
    address = server_at(base_url)
    return next(
        (server for server in find_servers(report_limit) if server.base_url and server_at(server.base_url) == address),
        None,
    )


def is_router(config: Config) -> bool:
    """Whether a command starts a router, which starts a server for each model."""
    return config.model is None and BY_NAME[config.engine].is_router_without_model


def read_command(argv: Sequence[str]) -> Config | None:
    """Return the config of a running command; None if it is not a server of a known engine."""
    explanation = explain(shlex.join(plain_command(argv))) if argv else None
    config = explanation.config if explanation else None
    if config is None or config.engine not in BY_NAME:
        return None
    secret_values = distinctive(values_of(argv).values())
    return config.model_copy(update={"launcher": "attach", "argv": tuple(mask_argv(argv, secret_values))})


def plain_command(argv: Sequence[str]) -> list[str]:
    """Return the command as a person would type it, without an interpreter before an installed script."""
    words = list(argv)
    is_python = PurePath(words[0]).name.startswith("python")
    if is_python and len(words) > 1 and words[1].startswith("/") and not words[1].endswith(".py"):
        words = words[1:]
    return [PurePath(words[0]).name, *words[1:]] if words[0].startswith("/") else words


def family(pid: int | None, processes: Mapping[int, psutil.Process]) -> set[int]:
    """Return the pids of the process and all its descendants."""
    if pid is None or pid not in processes:
        return set()
    with suppress(psutil.Error):
        return {pid, *(child.pid for child in processes[pid].children(recursive=True))}
    return set()


def listening_ports(processes: Iterable[psutil.Process]) -> dict[int, set[int]]:
    """Return pid -> TCP ports on which the process listens."""
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
        family_pids = {process.pid} if is_router(config) else family(process.pid, processes)
        own_ports = {port for pid in family_pids for port in ports.get(pid, ())}
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


def _in_container(container: RunningContainer, config: Config) -> FoundServer:
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
    """Return its URL: by the configured port if it listens there or its ports are unknown, else by its only port."""
    stated_url = default_base_url(config)
    port = config.port or BY_NAME[config.engine].default_port
    if not ports or port in ports:
        return stated_url
    return default_base_url(config.model_copy(update={"port": min(ports)})) if len(ports) == 1 else None


def has_metrics(config: Config) -> bool | None:
    """Whether the server was started with /metrics enabled; None if the engine has no counters there."""
    engine = BY_NAME[config.engine]
    if engine.metrics_path is None or engine.counters is None:
        return None
    switch = engine.switches.get(engine.metrics_path)
    return switch is None or switch in config.argv


def output_of(pid: int | None) -> Path | None:
    """Return the file to which the process with this pid writes its output."""
    with suppress(psutil.NoSuchProcess):
        return output_file(psutil.Process(pid)) if pid is not None else None
    return None


def output_file(process: psutil.Process) -> Path | None:
    """Return the regular file to which the process writes its output; None if there is none."""
    with suppress(psutil.Error, OSError):
        open_files = {file.fd: file.path for file in process.open_files()}
        return next((Path(open_files[fd]) for fd in OUTPUTS if fd in open_files), None)
    return None
