"""Checks of a launch request that run before anything is started."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from commands.expansion import expand_config
from commands.gpus import CONTAINER_LAUNCHERS
from commands.secrets import missing_secrets, quoted, with_secrets_in
from domain import Config, Run, WorkloadSpec
from errors import PitwallError
from launcher.checks.addresses import default_base_url
from launcher.processes.runtimes import ContainerBackend, backend_of
from machine.ports import describe_busy_port, host_and_port, is_port_free

CONTAINERS_S = 4.0  # for all that a container runtime is asked before a start


class LaunchRefusedError(PitwallError):
    """Nothing was started and no run was recorded; the message is one sentence that says what to fix."""


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """One server to launch; `config.argv` is executed as it is, without a shell.

    `secrets` holds the values that the config shows as '<secret>', by the name of their place ('HF_TOKEN',
    '--api-key (2)', see `commands.secret_places`); they live in memory until the start and are never stored.
    """

    config: Config
    name: str | None = None
    workload: WorkloadSpec | None = None
    later_workloads: tuple[WorkloadSpec, ...] = ()  # put on the same server, one after the other
    secrets: Mapping[str, str] = field(default_factory=dict)
    base_url: str | None = None  # default: the config's host and port
    ready_path: str | None = None  # default: the engine's
    ready_timeout_s: float = 600.0
    stop_when_done: bool = True
    cwd: Path | None = None  # default: Pitwall's own
    makes_model: bool = False  # the command writes its model file itself (the demo)
    arm: str | None = None  # of a study
    round: int | None = None  # which of its repeats it is, from 1; see launcher.runs.rounds
    round_seed: int | None = None
    on_host: str | None = None  # the label of a host that was added; default: this machine


def check_request(request: LaunchRequest) -> None:
    """Raise LaunchRefusedError for what the user can fix before anything runs; it looks at files, which may hang."""
    _check_words(request)
    _check_place(request)
    _check_given(request)


def check_command(request: LaunchRequest) -> None:
    """Raise LaunchRefusedError for what is wrong with the command on whatever machine it is to run."""
    _check_words(request)
    _check_given(request)


def check_machine(request: LaunchRequest) -> list[str]:
    """Check on this machine a command whose words were checked elsewhere; raises LaunchRefusedError.

    What is not known because a container runtime passed a limit, in sentences.
    """
    _check_place(request)
    check_port(port_of(answering_url(request)), request.config.host, [])
    return [words for words in check_containers([request]) if words]


def _check_words(request: LaunchRequest) -> None:
    argv = request.config.argv
    if not argv or not argv[0].strip():
        raise LaunchRefusedError("There is no command to run.")
    if any("\0" in word for word in argv):
        raise LaunchRefusedError("The command holds a NUL character, which no program can be given.")


def _check_place(request: LaunchRequest) -> None:
    cwd = working_directory(request)
    if not (is_there(cwd) and cwd.is_dir()):
        raise LaunchRefusedError(f"The working directory {cwd} does not exist: make it, or choose another.")
    check_executable(request.config, cwd)
    check_model(request, cwd)


def _check_given(request: LaunchRequest) -> None:
    missing = missing_secrets(request.config, {**os.environ, **request.secrets})
    if missing:
        raise LaunchRefusedError(
            f"The value of {quoted(missing)} is a secret that Pitwall does not keep: please give it."
        )
    port_of(answering_url(request))


def answering_url(request: LaunchRequest) -> str:
    """Where the server will answer, seen from its own machine; raises LaunchRefusedError where that is not known."""
    base_url = request.base_url or default_base_url(request.config)
    if not base_url:
        raise LaunchRefusedError("Pitwall cannot tell where this server will answer: please give its port or its URL.")
    return base_url


def expanded(request: LaunchRequest) -> LaunchRequest:
    """The request as it will be run, with `~` and variables expanded as a shell would; the stored run keeps its text.

    Raises LaunchRefusedError for a variable that neither its environment nor ours sets, or that holds several words.
    """
    filled = expand_config(request.config, os.environ)
    if filled.missing:
        names = ", $".join(filled.missing)
        raise LaunchRefusedError(f"The command names ${names}, which is not set: please give the value.")
    for sentence in map(several_words, filled.several):
        raise LaunchRefusedError(sentence)
    return replace(request, config=filled.config)


def several_words(name: str) -> str:
    """Why a variable of the command cannot be filled in."""
    return f"${name} holds several words, flags among them: please write them into the command in its place."


def working_directory(request: LaunchRequest) -> Path:
    """Where the command runs."""
    return in_full(request.cwd or Path.cwd()).absolute()


def in_full(path: str | Path) -> Path:
    """The path with its `~` filled in; raises LaunchRefusedError where nobody has that home."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise LaunchRefusedError(f"The path {path} names a home folder that is not known: write it in full.") from error


def is_there(path: Path) -> bool:
    """Whether it exists; raises LaunchRefusedError where this user may not know."""
    try:
        return path.exists()
    except OSError as error:
        raise LaunchRefusedError(f"Whether {path} exists cannot be told: {error.strerror}.") from error


def check_executable(config: Config, cwd: Path) -> None:
    """The first word must be a program that may be executed, found as the shim will find it."""
    word = config.argv[0]
    if "/" in word:
        path = cwd / word
        if not is_there(path):
            raise LaunchRefusedError(f"The executable {path} does not exist: install it, or give its path.")
        if path.is_dir() or not os.access(path, os.X_OK):
            raise LaunchRefusedError(f"{path} is not executable: allow it with chmod +x, or name another.")
    elif not shutil.which(word, path=config.env.get("PATH")):
        raise LaunchRefusedError(f"The executable {word} was not found on the PATH: install it, or give its full path.")


def check_model(request: LaunchRequest, cwd: Path) -> None:
    """Models named by a path on this machine must be there; names of a hub and paths in containers are not checked."""
    config = request.config
    if request.makes_model or config.launcher in CONTAINER_LAUNCHERS:
        return
    drafter = config.speculative.model if config.speculative else None
    for model in filter(None, (config.model, drafter)):
        path = with_secrets_in(model, config, request.secrets)
        is_path = path.startswith(("/", "./", "../", "~")) or path.endswith(".gguf")
        if is_path and not is_there(cwd / in_full(path)):
            raise LaunchRefusedError(
                f"The model {model} does not exist: give a path of this machine, or a name that a hub has."
            )


def check_port(port: int, host: str | None, live: Sequence[Run]) -> None:
    """The port must be free, and not promised to a run that has not opened it yet."""
    at_port = [run for run in live if run.base_url and port_of(run.base_url) == port]
    for run in at_port:
        if run.kind == "launched":
            taken = f"Port {port} belongs to the run '{run.name}', which is {run.state.value}"
            raise LaunchRefusedError(f"{taken}: choose another port, or queue this run behind it.")
    if not is_port_free(port, host):
        watched = "".join(f" Pitwall watches it as the run '{run.name}'." for run in at_port[:1])
        raise LaunchRefusedError(f"{describe_busy_port(port)}{watched} Stop that, or choose another port.")


def check_containers(requests: Sequence[LaunchRequest], within_s: float = CONTAINERS_S) -> list[str | None]:
    """The names of containers here must be free; for each request what is not known of that: a limit was passed.

    Who launches waits for the answers, so all of them come within these seconds. Nothing is lost by a name that a
    slow runtime would have called taken: it refuses to start the container, and the run fails with its sentence. A
    runtime that passed a limit is not asked again.
    """
    unknown: list[str | None] = []
    deadline_s, passed = time.monotonic() + within_s, list[str]()
    for request in requests:
        backend = backend_of(request.config, "", request.on_host is None, passed.append)
        left_s = max(round(deadline_s - time.monotonic(), 1), 0.1)
        if not passed and (obstacle := backend.obstacle(request.config.argv, left_s)):
            raise LaunchRefusedError(obstacle)
        is_asked = isinstance(backend, ContainerBackend) and backend.is_here
        unknown.append(passed[0] if passed and is_asked else None)
    return unknown


def read_ready_url(text: str) -> tuple[str | None, str | None]:
    """Base URL and path of a readiness URL as a person types it, with or without http://; None for nothing.

    Raises LaunchRefusedError for what is no URL.
    """
    typed = text.strip()
    if not typed:
        return None, None
    url = typed if "://" in typed.partition("?")[0] else f"http://{typed}"
    port_of(url)
    parts = urlsplit(url)
    if parts.username or parts.password:
        raise LaunchRefusedError("A readiness URL with a name or password in it is not taken: it would be stored.")
    return f"{parts.scheme}://{parts.netloc}", urlunsplit(("", "", parts.path, parts.query, "")) or None


def port_of(base_url: str) -> int:
    """The port of an http(s) URL; raises LaunchRefusedError when it is not one."""
    try:
        return host_and_port(base_url)[1]
    except ValueError as error:
        words = f"'{base_url}' is not the address of a server: it looks like http://127.0.0.1:8000."
        raise LaunchRefusedError(words) from error
