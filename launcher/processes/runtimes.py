"""One interface for the runtimes of a server: a bare process, or a container of podman or docker.

The shim is the parent of a container's foreground client, as it is of a bare server. A container outlives its client,
so it carries Pitwall's label, is stopped through the runtime, and is removed only after its exit code has been read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import psutil

from commands.paste.containers import find_runtime, read_options
from commands.paste.servers import SHELLS, basename
from commands.paste.variables import arg
from domain import Config, JsonValue, Run
from launcher.processes.containers import TIMEOUT_S, ReportLimit, ask, ignore_limit
from launcher.processes.process import Leftovers
from launcher.processes.shim import MARKER
from launcher.processes.startup_progress import read_pull
from launcher.processes.stopping import StopReport
from machine.process_start import process_start_s

LABEL = "pitwall.run"
DROPPED_OPTIONS = frozenset({"--rm", "--rmi", "--detach", "--interactive", "--tty", "--replace", "--restart"})
MOMENTARY_FIELDS = frozenset({"is_running", "has_started", "exit_code", "pid", "pid_birth_s", "pid_started_at"})
CLIENT_VARIABLES = ("DOCKER_", "CONTAINER")  # they select the container engine of a client
CLIENT_EXITS = (125, 126, 127)
ZERO_TIME = "0001-"  # prefix of a date that is not set, in both tools
COULD_NOT_START = "{tool} could not start the container"
UNREACHABLE_DAEMON = re.compile(r"connect\w* to (?:the )?(?:docker|podman)|docker API|daemon socket", re.IGNORECASE)
# Patterns of a client's message for faults of the command; all other faults are the runtime's.
COMMAND_FAULTS = {
    r"permission denied": "The command in the image is not executable",
    r"executable file|no such file": "The command was not found in the image",
}


@dataclass(frozen=True, slots=True)
class ContainerFacts:
    """One container of Pitwall, as its runtime shows it; None: unknown."""

    tool: str
    name: str
    id: str
    image: str | None
    image_id: str | None
    image_digest: str | None
    is_running: bool
    has_started: bool  # False: only created; both tools then report an exit code of 0
    exit_code: int | None
    is_oom_killed: bool | None
    pid: int | None  # of its first process on this machine
    pid_birth_s: float | None
    pid_started_at: float | None

    @property
    def process(self) -> dict[str, JsonValue]:
        """Its first process, as fields of a Run."""
        return {"pid": self.pid, "pid_birth_s": self.pid_birth_s, "pid_started_at": self.pid_started_at}

    def as_provenance(self) -> dict[str, JsonValue]:
        """Return the fields that are recorded in the run's provenance."""
        return {name: value for name, value in asdict(self).items() if name not in MOMENTARY_FIELDS}


class Backend(Protocol):
    """Starts and ends servers of one runtime, in addition to the shim's child process."""

    def shim_argv(self, argv: Sequence[str]) -> list[str]:
        """Return the argv for the shim."""
        ...

    def find_obstacle(self, argv: Sequence[str], within_s: float) -> str | None:
        """Return in one sentence why this server cannot be started now; None also if that is unknown in time."""
        ...

    def read_phase(self, log: Path) -> str | None:
        """Return what the client does before there is a container, according to its log."""
        ...

    def inspect(self) -> ContainerFacts | None:
        """Return the run's container now; queries the runtime, which may be slow."""
        ...

    def end(self, grace_s: float) -> tuple[StopReport, ContainerFacts | None]:
        """End and remove the container; return its facts from before the removal."""
        ...

    def describe_client_exit(self, exit_code: int, line: str) -> str | None:
        """Return why the client ended, with the line that says so, if its exit code is not the server's own."""
        ...


class ProcessBackend:
    """Backend of a bare process, which needs nothing beyond the process itself."""

    def shim_argv(self, argv: Sequence[str]) -> list[str]:
        """Return the command unchanged."""
        return list(argv)

    def find_obstacle(self, argv: Sequence[str], within_s: float) -> str | None:
        """Return None: there is no container whose name could be taken."""
        return None

    def read_phase(self, log: Path) -> str | None:
        """Return None: there is no image to pull."""
        return None

    def inspect(self) -> ContainerFacts | None:
        """Return None: there is no container."""
        return None

    def end(self, grace_s: float) -> tuple[StopReport, ContainerFacts | None]:
        """Return an empty report: there is no container."""
        return StopReport(), None

    def describe_client_exit(self, exit_code: int, line: str) -> str | None:
        """Return None: the exit code is always the server's own."""
        return None


@dataclass(frozen=True)
class ContainerBackend:
    """Backend of `podman run` or `docker run`; `runtime` holds the words before 'run' ('sudo', 'podman')."""

    runtime: tuple[str, ...]
    run_id: str
    environ: Mapping[str, str]
    is_here: bool = True  # False: the runtime is on another machine, where it is queried
    report_limit: ReportLimit = ignore_limit  # from any thread

    @property
    def tool(self) -> str:
        return next(basename(word) for word in self.runtime if find_runtime([arg(word), arg("run")]))

    def shim_argv(self, argv: Sequence[str]) -> list[str]:
        """Return the foreground command, with its container named, labelled, marked, and not removed when it ends."""
        start = len(self.runtime) + 1
        options = list(read_options([arg(word) for word in argv[start:]]))
        options_kept, index = list[str](), start
        for name, _, length in options:
            options_kept += _filter_option(name, argv[index : index + length])
            index += length
        is_named = any(name == "--name" for name, _, _ in options)
        own_options = [] if is_named else ["--name", f"pitwall-{self.run_id}"]
        own_options += ["--label", f"{LABEL}={self.run_id}", "--env", f"{MARKER}={self.run_id}"]
        return [*argv[:start], *own_options, *options_kept, *argv[index:]]

    def find_obstacle(self, argv: Sequence[str], within_s: float) -> str | None:
        """Return a sentence if the requested --name already belongs to a container; None if it is free or unknown."""
        options = read_options([arg(word) for word in argv[len(self.runtime) + 1 :]])
        name = next((value.text for option, value, _ in options if option == "--name" and value), None)
        if name is None or not self.is_here or self._ask("container", "inspect", name, timeout_s=within_s) is None:
            return None
        return f"A {self.tool} container named {name} already exists: remove it, or choose another --name."

    def read_phase(self, log: Path) -> str | None:
        """Return the progress of the image pull, by the newest line of the log; None before and after it."""
        return read_pull(log)

    def inspect(self) -> ContainerFacts | None:
        """Return the container; None if there is none, the runtime does not answer, or it is on another machine."""
        ids = self._ids() if self.is_here else None
        return self._inspect(ids[0]) if ids else None

    def end(self, grace_s: float) -> tuple[StopReport, ContainerFacts | None]:
        """Stop and remove every container with the run's label; after `grace_s` the runtime kills it."""
        ids = self._ids()
        if ids is None:
            sentence = f"{self.tool} does not answer: a container of this run may still exist."
            return StopReport(leftovers=(sentence,)), None
        actions, leftovers, facts = list[str](), list[str](), None
        for container in ids:
            facts = self._inspect(container)
            if facts and facts.is_running:
                self._ask("stop", "-t", f"{max(grace_s, 1):.0f}", container, timeout_s=grace_s + TIMEOUT_S)
                actions.append(f"asked the container {facts.name} to end ({self.tool} stop)")
            facts = self._inspect(container) or facts
            self._ask("rm", "-f", "-v", container, timeout_s=3 * TIMEOUT_S)
        remaining_ids = self._ids()
        if remaining_ids is None:
            leftovers.append(f"{self.tool} no longer answers: its container may still exist.")
        elif remaining_ids:
            leftovers.append(f"The {self.tool} container {', '.join(remaining_ids)} could not be removed.")
        return StopReport(tuple(actions), tuple(leftovers)), facts

    def describe_client_exit(self, exit_code: int, line: str) -> str | None:
        """Return why the client could not start the container (exit codes 125 to 127), with the line that says so."""
        if exit_code not in CLIENT_EXITS or not line:
            return None
        is_command = exit_code != CLIENT_EXITS[0] and not UNREACHABLE_DAEMON.search(line)
        faults = (words for pattern, words in COMMAND_FAULTS.items() if re.search(pattern, line, re.IGNORECASE))
        sentence = next(faults, COULD_NOT_START) if is_command else COULD_NOT_START
        message = line.strip().removesuffix(".")
        return f"{sentence.format(tool=self.tool)}: {message}{'' if message.endswith('?') else '.'}"

    def _ids(self) -> list[str] | None:
        """Return the ids of containers with the run's label; None if the runtime does not answer."""
        answer = self._ask("ps", "-a", "-q", "--no-trunc", "--filter", f"label={LABEL}={self.run_id}")
        return None if answer is None else answer.split()

    def _inspect(self, container: str) -> ContainerFacts | None:
        answer = self._ask("inspect", "--type", "container", container)
        return read_facts(self.tool, json.loads(answer)[0], self._image_digest) if answer else None

    def _image_digest(self, image_id: str) -> str | None:
        """Return an image's digest; docker knows it only for images from a registry."""
        answer = self._ask("image", "inspect", image_id)
        digests = json.loads(answer)[0].get("RepoDigests") if answer else None
        return digests[0].partition("@")[2] if digests else None

    def _ask(self, *words: str, timeout_s: float = TIMEOUT_S) -> str | None:
        return ask([*self.runtime, *words], timeout_s, {**os.environ, **self.environ}, self.report_limit)


def backend_of(config: Config, run_id: str, is_here: bool = True, report_limit: ReportLimit = ignore_limit) -> Backend:
    """Return the backend for the config's command; `report_limit` takes a sentence about an exceeded limit."""
    runtime = find_runtime([arg(word) for word in config.argv])
    if runtime is None or runtime[2] != "run":
        return ProcessBackend()
    client_variables = {name: value for name, value in config.env.items() if name.startswith(CLIENT_VARIABLES)}
    return ContainerBackend(tuple(config.argv[: runtime[1] - 1]), run_id, client_variables, is_here, report_limit)


def with_container(run: Run, facts: ContainerFacts | None) -> dict[str, JsonValue]:
    """Return the run's provenance with its container added; empty if there is none."""
    return {"provenance": {**(run.provenance or {}), "container": facts.as_provenance()}} if facts else {}


def read_facts(tool: str, inspection: Mapping[str, Any], digest_of: Callable[[str], str | None]) -> ContainerFacts:
    """Parse one element of the output of `inspect`, in the terms that podman and docker share."""
    state, image_id = inspection.get("State") or {}, inspection.get("Image") or None
    is_running, has_started = bool(state.get("Running")), not str(state.get("StartedAt")).startswith(ZERO_TIME)
    pid, pid_birth_s, pid_started_at = _process_here(state.get("Pid"), str(inspection["Id"]))
    return ContainerFacts(
        tool=tool,
        name=str(inspection.get("Name", "")).lstrip("/"),
        id=str(inspection["Id"]),
        image=(inspection.get("Config") or {}).get("Image") or inspection.get("ImageName"),
        image_id=image_id,
        image_digest=inspection.get("ImageDigest") or (digest_of(image_id) if image_id else None),
        is_running=is_running,
        has_started=has_started,
        exit_code=None if is_running or not has_started else state.get("ExitCode"),
        is_oom_killed=state.get("OOMKilled"),
        pid=pid,
        pid_birth_s=pid_birth_s,
        pid_started_at=pid_started_at,
    )


def _process_here(pid: int | None, container: str) -> tuple[int, float, float] | tuple[None, None, None]:
    """Return pid, birth and start of a container's process here; a runtime in a virtual machine has other pids."""
    try:
        if pid and container in Path(f"/proc/{pid}/cgroup").read_text():
            return pid, process_start_s(pid), psutil.Process(pid).create_time()
    except (OSError, psutil.Error):
        return None, None, None
    return None, None, None


def _filter_option(name: str, words: Sequence[str]) -> Sequence[str]:
    """Return an option's words without parts that detach, remove or restart the container, or need a terminal."""
    first = words[0]
    if name in DROPPED_OPTIONS:
        return ()
    if first.startswith("--"):
        return words
    remaining_flags = first[1:].lstrip("dit")
    return (
        words
        if remaining_flags == first[1:]
        else [f"-{remaining_flags}", *words[1:]]
        if remaining_flags and remaining_flags[0] != "="
        else ()
    )


def leftovers_of(config: Config) -> Leftovers:
    """Return the treatment of processes that outlive the first one, see `ProcessSpec`."""
    if isinstance(backend_of(config, ""), ContainerBackend):
        return "leave"
    return "follow" if basename(config.argv[0]) in SHELLS or config.launcher == "script" else "end"
