"""One interface for what a server runs in: a bare process, or a container of podman or docker.

The shim is the parent of a container's foreground client as it is of a bare server. A container outlives its client,
so it carries our label, is stopped through the runtime, and is removed only after its exit code has been read.
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
from commands.paste.servers import basename
from commands.paste.variables import arg
from domain import Config, JsonValue, Run
from launcher.processes.containers import TIMEOUT_S, Passed, ask, unheard
from launcher.processes.shim import MARKER
from launcher.processes.startup_progress import read_pull
from launcher.processes.stopping import StopReport
from machine.process_start import process_start_s

LABEL = "pitwall.run"
DROPPED = frozenset({"--rm", "--rmi", "--detach", "--interactive", "--tty", "--replace", "--restart"})
PASSING = frozenset({"is_running", "has_started", "exit_code", "pid", "pid_birth_s", "pid_started_at"})
CLIENT_VARIABLES = ("DOCKER_", "CONTAINER")  # they say which engine a client speaks to
CLIENT_EXITS = (125, 126, 127)
NEVER = "0001-"  # how both tools begin a date that is none
COULD_NOT_START = "{tool} could not start the container"
# What a client's last line says when the fault lies with the command; any other is the runtime's.
COMMAND_FAULTS = {
    r"permission denied": "The command in the image may not be executed",
    r"executable file|no such file": "The command was not found in the image",
}


@dataclass(frozen=True, slots=True)
class ContainerFacts:
    """One container of ours as its runtime shows it; None is not known."""

    tool: str
    name: str
    id: str
    image: str | None
    image_id: str | None
    image_digest: str | None
    is_running: bool
    has_started: bool  # False: only made, and both tools give 0 for the exit code that it never had
    exit_code: int | None
    is_oom_killed: bool | None
    pid: int | None  # of its first process on this machine; None where that is not known
    pid_birth_s: float | None
    pid_started_at: float | None

    @property
    def process(self) -> dict[str, JsonValue]:
        """Its first process, in the fields of a Run."""
        return {"pid": self.pid, "pid_birth_s": self.pid_birth_s, "pid_started_at": self.pid_started_at}

    def as_provenance(self) -> dict[str, JsonValue]:
        """What of it is frozen with the run."""
        return {name: value for name, value in asdict(self).items() if name not in PASSING}


class Backend(Protocol):
    """How servers of one kind are started and ended, in addition to the shim's child process."""

    def words(self, argv: Sequence[str]) -> list[str]:
        """The argv that the shim is to run."""
        ...

    def obstacle(self, argv: Sequence[str], within_s: float) -> str | None:
        """Why this server cannot be started now, in one sentence; None too where that is not known in time."""
        ...

    def phase(self, log: Path) -> str | None:
        """What the client does before there is a container, as its log reports it."""
        ...

    def look(self) -> ContainerFacts | None:
        """The container of the run now; asks the runtime, which may take its time."""
        ...

    def end(self, grace_s: float) -> tuple[StopReport, ContainerFacts | None]:
        """End and remove the container, and how it was before it was removed."""
        ...

    def describe_client_exit(self, exit_code: int, last_line: str) -> str | None:
        """Why the client ended, where its code is not the server's own."""
        ...


class ProcessBackend:
    """A bare process: nothing is needed beyond the process itself."""

    def words(self, argv: Sequence[str]) -> list[str]:
        """The command as it is: nothing stands before a bare process."""
        return list(argv)

    def obstacle(self, argv: Sequence[str], within_s: float) -> str | None:
        """None: there is no container whose name could be taken."""
        return None

    def phase(self, log: Path) -> str | None:
        """None: there is no image to pull."""
        return None

    def look(self) -> ContainerFacts | None:
        """None: there is no container."""
        return None

    def end(self, grace_s: float) -> tuple[StopReport, ContainerFacts | None]:
        """Nothing was done and nothing is left, for there is no container."""
        return StopReport(), None

    def describe_client_exit(self, exit_code: int, last_line: str) -> str | None:
        """None: the exit code is always the server's own."""
        return None


@dataclass(frozen=True)
class ContainerBackend:
    """`podman run` or `docker run`; `runtime` are the words that reach it ('sudo', 'podman')."""

    runtime: tuple[str, ...]
    run_id: str
    environ: Mapping[str, str]
    is_here: bool = True  # False: its runtime is another machine's, and asked over there
    passed: Passed = unheard  # from any thread

    @property
    def tool(self) -> str:
        return next(basename(word) for word in self.runtime if find_runtime([arg(word), arg("run")]))

    def words(self, argv: Sequence[str]) -> list[str]:
        """The command in the foreground, its container named, labelled, marked and kept for a last look."""
        start = len(self.runtime) + 1
        options = list(read_options([arg(word) for word in argv[start:]]))
        kept, at = list[str](), start
        for name, _, length in options:
            kept += _kept(name, argv[at : at + length])
            at += length
        is_named = any(name == "--name" for name, _, _ in options)
        ours = [] if is_named else ["--name", f"pitwall-{self.run_id}"]
        ours += ["--label", f"{LABEL}={self.run_id}", "--env", f"{MARKER}={self.run_id}"]
        return [*argv[:start], *ours, *kept, *argv[at:]]

    def obstacle(self, argv: Sequence[str], within_s: float) -> str | None:
        """Why it cannot start: the --name that it asks for is a container's already. None where it is free."""
        options = read_options([arg(word) for word in argv[len(self.runtime) + 1 :]])
        name = next((value.text for option, value, _ in options if option == "--name" and value), None)
        if name is None or not self.is_here or self._ask("container", "inspect", name, timeout_s=within_s) is None:
            return None
        return f"There is a {self.tool} container named {name} already: remove it, or choose another --name."

    def phase(self, log: Path) -> str | None:
        """How far the pull of the image has come, by the newest line of the log; None before and after it."""
        return read_pull(log)

    def look(self) -> ContainerFacts | None:
        """None without a container, when the runtime does not answer, and where it is another machine's."""
        found = self._ids() if self.is_here else None
        return self._inspect(found[0]) if found else None

    def end(self, grace_s: float) -> tuple[StopReport, ContainerFacts | None]:
        """Stop and remove every container that bears our label; `grace_s` is the runtime's time until it kills one."""
        found = self._ids()
        if found is None:
            words = f"{self.tool} does not answer: whether a container of this run is left is not known."
            return StopReport(leftovers=(words,)), None
        actions, leftovers, facts = list[str](), list[str](), None
        for container in found:
            facts = self._inspect(container)
            if facts and facts.is_running:
                self._ask("stop", "-t", f"{max(grace_s, 1):.0f}", container, timeout_s=grace_s + TIMEOUT_S)
                actions.append(f"asked the container {facts.name} to end ({self.tool} stop)")
            facts = self._inspect(container) or facts
            self._ask("rm", "-f", "-v", container, timeout_s=3 * TIMEOUT_S)
        left = self._ids()
        if left is None:
            leftovers.append(f"{self.tool} no longer answers: whether its container is gone is not known.")
        elif left:
            leftovers.append(f"Still there: {self.tool} container {', '.join(left)}, which could not be removed.")
        return StopReport(tuple(actions), tuple(leftovers)), facts

    def describe_client_exit(self, exit_code: int, last_line: str) -> str | None:
        """Why the client could not start the container (exit codes 125 to 127), with its last line."""
        if exit_code not in CLIENT_EXITS or not last_line:
            return None
        faults = (words for pattern, words in COMMAND_FAULTS.items() if re.search(pattern, last_line, re.IGNORECASE))
        words = COULD_NOT_START if exit_code == CLIENT_EXITS[0] else next(faults, COULD_NOT_START)
        return f"{words.format(tool=self.tool)}: {last_line}."

    def _ids(self) -> list[str] | None:
        """The containers that bear our label; None when the runtime does not answer."""
        answer = self._ask("ps", "-a", "-q", "--no-trunc", "--filter", f"label={LABEL}={self.run_id}")
        return None if answer is None else answer.split()

    def _inspect(self, container: str) -> ContainerFacts | None:
        answer = self._ask("inspect", "--type", "container", container)
        return read_facts(self.tool, json.loads(answer)[0], self._image_digest) if answer else None

    def _image_digest(self, image_id: str) -> str | None:
        """Docker knows the digest of an image that came from a registry, and only there."""
        answer = self._ask("image", "inspect", image_id)
        digests = json.loads(answer)[0].get("RepoDigests") if answer else None
        return digests[0].partition("@")[2] if digests else None

    def _ask(self, *words: str, timeout_s: float = TIMEOUT_S) -> str | None:
        return ask([*self.runtime, *words], timeout_s, {**os.environ, **self.environ}, self.passed)


def backend_of(config: Config, run_id: str, is_here: bool = True, passed: Passed = unheard) -> Backend:
    """The backend that the config's own words call for; `passed` takes a sentence where its answers pass a limit."""
    found = find_runtime([arg(word) for word in config.argv])
    if found is None or found[2] != "run":
        return ProcessBackend()
    steering = {name: value for name, value in config.env.items() if name.startswith(CLIENT_VARIABLES)}
    return ContainerBackend(tuple(config.argv[: found[1] - 1]), run_id, steering, is_here, passed)


def with_container(run: Run, facts: ContainerFacts | None) -> dict[str, JsonValue]:
    """The run's field with what is known of its container; nothing while there is none."""
    return {"provenance": {**(run.provenance or {}), "container": facts.as_provenance()}} if facts else {}


def read_facts(tool: str, one: Mapping[str, Any], digest_of: Callable[[str], str | None]) -> ContainerFacts:
    """One element of what `inspect` prints, in the terms that podman and docker share."""
    state, image_id = one.get("State") or {}, one.get("Image") or None
    is_running, has_started = bool(state.get("Running")), not str(state.get("StartedAt")).startswith(NEVER)
    pid, pid_birth_s, pid_started_at = _process_here(state.get("Pid"), str(one["Id"]))
    return ContainerFacts(
        tool=tool,
        name=str(one.get("Name", "")).lstrip("/"),
        id=str(one["Id"]),
        image=(one.get("Config") or {}).get("Image") or one.get("ImageName"),
        image_id=image_id,
        image_digest=one.get("ImageDigest") or (digest_of(image_id) if image_id else None),
        is_running=is_running,
        has_started=has_started,
        exit_code=None if is_running or not has_started else state.get("ExitCode"),
        is_oom_killed=state.get("OOMKilled"),
        pid=pid,
        pid_birth_s=pid_birth_s,
        pid_started_at=pid_started_at,
    )


def _process_here(pid: int | None, container: str) -> tuple[int, float, float] | tuple[None, None, None]:
    """The pid, birth and start of a process of this machine: a runtime in a virtual machine has numbers of its own."""
    try:
        if pid and container in Path(f"/proc/{pid}/cgroup").read_text():
            return pid, process_start_s(pid), psutil.Process(pid).create_time()
    except (OSError, psutil.Error):
        return None, None, None
    return None, None, None


def _kept(name: str, words: Sequence[str]) -> Sequence[str]:
    """An option's words without what would detach the container, remove it, bring it back or want a terminal."""
    first = words[0]
    if name in DROPPED:
        return ()
    if first.startswith("--"):
        return words
    rest = first[1:].lstrip("dit")
    return words if rest == first[1:] else [f"-{rest}", *words[1:]] if rest and rest[0] != "=" else ()
