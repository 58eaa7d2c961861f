"""Launch requests: the server to launch, its address, and the error for a refused launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from domain import Config, WorkloadSpec
from errors import PitwallError
from launcher.checks.addresses import default_base_url
from machine.ports import host_and_port


class LaunchRefusedError(PitwallError):
    """A launch was refused before anything was started or recorded; the message says in one sentence what to fix."""


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """One server to launch; `config.argv` is executed without a shell.

    `secrets` holds the values that the config shows as '<secret>', by place name ('HF_TOKEN', '--api-key (2)', see
    `commands.secret_places`); they stay in memory until the start and are never stored.
    """

    config: Config
    name: str | None = None
    workload: WorkloadSpec | None = None
    later_workloads: tuple[WorkloadSpec, ...] = ()  # run on the same server, one after another
    secrets: Mapping[str, str] = field(default_factory=dict)
    base_url: str | None = None  # default: the config's host and port
    ready_path: str | None = None  # default: the engine's
    ready_timeout_s: float = 600.0
    stop_when_done: bool = True
    cwd: Path | None = None  # default: Pitwall's own
    makes_model: bool = False  # the command itself writes its model file (the demo)
    color: int | None = None  # of the run that this one repeats; default: see `commands.naming`
    arm: str | None = None  # of a study
    round: int | None = None  # number of this repeat, from 1; see launcher.runs.rounds
    round_seed: int | None = None
    on_host: str | None = None  # label of a host in the host book; default: this machine


def answering_url(base_url: str | None, config: Config) -> str:
    """Return the server's URL as seen from its own machine; raises LaunchRefusedError if it is unknown."""
    url = base_url or default_base_url(config)
    if not url:
        raise LaunchRefusedError("Pitwall cannot tell where this server will answer: please enter its port or its URL.")
    return url


def working_directory(request: LaunchRequest) -> Path:
    """Return the directory in which the command runs."""
    return expand_home(request.cwd or Path.cwd()).absolute()


def expand_home(path: str | Path) -> Path:
    """Return the path with `~` expanded; raises LaunchRefusedError for an unknown home folder."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise LaunchRefusedError(f"The path {path} names a home folder that is not known: write it in full.") from error


def read_ready_url(text: str) -> tuple[str | None, str | None]:
    """Split a typed readiness URL, with or without http://, into base URL and path; None for empty text.

    Raises LaunchRefusedError for an invalid URL.
    """
    typed = text.strip()
    if not typed:
        return None, None
    url = typed if "://" in typed.partition("?")[0] else f"http://{typed}"
    port_of(url)
    split_url = urlsplit(url)
    if split_url.username or split_url.password:
        raise LaunchRefusedError("A readiness URL must not contain a user name or password, because it is stored.")
    return f"{split_url.scheme}://{split_url.netloc}", urlunsplit(("", "", split_url.path, split_url.query, "")) or None


def port_of(base_url: str) -> int:
    """Return the port of an http(s) URL; raises LaunchRefusedError for an invalid URL."""
    try:
        return host_and_port(base_url)[1]
    except ValueError as error:
        refusal = f"'{base_url}' is not the address of a server. Example: http://127.0.0.1:8000."
        raise LaunchRefusedError(refusal) from error
