"""The containers that run on this machine, as podman and docker list them; a tool that is not installed lists none."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from machine.run_with_timeout import PassedLimitError, read_bounded

TOOLS = ("podman", "docker")
TIMEOUT_S = 10.0
MOST_BYTES = 64 << 20  # of what a runtime prints: thousands of inspected containers
Passed = Callable[[str], object]  # is given a sentence, with the limit's name, where an answer passes a limit


def unheard(words: str) -> None:
    """For who has nobody to tell of a limit."""


@dataclass(frozen=True, slots=True)
class Container:
    """One running container, in the terms that podman and docker share."""

    tool: str
    name: str
    image: str | None
    argv: list[str]
    pid: int | None
    started_at: datetime | None
    log_path: Path | None
    shares_host_network: bool
    ports: Mapping[int, int] = field(default_factory=dict)  # inside -> on this machine

    def published_port(self, inside: int) -> int | None:
        """The port of this machine that leads to a port inside; None when none does."""
        return inside if self.shares_host_network else self.ports.get(inside)


def list_containers(passed: Passed = unheard) -> list[Container]:
    """The running containers of every tool that answers."""
    return [container for tool in TOOLS if shutil.which(tool) for container in containers_of(tool, passed)]


def containers_of(tool: str, passed: Passed = unheard) -> list[Container]:
    """The running containers of one tool; none when it refuses (no daemon, no permission)."""
    ids = ask([tool, "ps", "--quiet", "--no-trunc"], passed=passed)
    inspected = ask([tool, "inspect", *ids.split()], passed=passed) if ids else None
    return [read_inspection(tool, one) for one in json.loads(inspected)] if inspected else []


class Images:
    """What the runtimes here say of images: each is asked once, and all have these seconds together."""

    def __init__(self, within_s: float = TIMEOUT_S) -> None:
        self._deadline_s = time.monotonic() + within_s
        self._said: dict[tuple[str, str], tuple[bool | None, list[str]]] = {}

    def has(self, tool: str, image: str, passed: Passed = unheard) -> bool | None:
        """Whether the tool has this image here; None where the tool does not answer, or passes a limit."""
        if (tool, image) not in self._said:
            limits = list[str]()
            found = None
            if self._ask(limits, tool, "version") is not None:
                found = self._ask(limits, tool, "image", "inspect", image) is not None
            self._said[tool, image] = None if limits else found, limits
        answer, limits = self._said[tool, image]
        for words in limits:
            passed(words)
        return answer

    def _ask(self, limits: list[str], *argv: str) -> str | None:
        left_s = max(round(self._deadline_s - time.monotonic(), 1), 0.1)
        return ask(argv, left_s, passed=limits.append)


def ask(
    argv: Sequence[str],
    timeout_s: float = TIMEOUT_S,
    environ: Mapping[str, str] | None = None,
    passed: Passed = unheard,
) -> str | None:
    """The output of a runtime's command; None if it fails, or passes a limit: then `passed` is given a sentence."""
    try:
        answer = read_bounded(argv, timeout_s, MOST_BYTES, environ)
    except OSError:
        return None
    except PassedLimitError as limit:
        passed(f"What `{' '.join(argv)}` says is not known: {limit}.")
        return None
    return None if answer is None else answer.decode("utf-8", "replace")


def read_inspection(tool: str, one: Mapping[str, Any]) -> Container:
    """One element of what `inspect` prints; podman and docker differ in what they leave out."""
    state, config = one.get("State") or {}, one.get("Config") or {}
    host, network = one.get("HostConfig") or {}, one.get("NetworkSettings") or {}
    log_path = one.get("LogPath") or (host.get("LogConfig") or {}).get("Path")
    return Container(
        tool=tool,
        name=str(one.get("Name", "")).lstrip("/"),
        image=config.get("Image") or one.get("ImageName"),
        argv=_argv(one),
        pid=state.get("Pid") or None,
        started_at=datetime.fromisoformat(state["StartedAt"]) if state.get("StartedAt") else None,
        log_path=Path(log_path) if log_path and os.access(log_path, os.R_OK) else None,
        shares_host_network=host.get("NetworkMode") == "host",
        ports=_ports(network.get("Ports") or {}),
    )


def _argv(one: Mapping[str, Any]) -> list[str]:
    """What runs inside: `Path` and `Args` hold entry point and command, put together."""
    return [str(word) for word in [one.get("Path"), *(one.get("Args") or [])] if word]


def _ports(published: Mapping[str, Any]) -> dict[int, int]:
    """{'8000/tcp': [{'HostPort': '18000'}]} as {8000: 18000}."""
    bound = {key.partition("/")[0]: hosts for key, hosts in published.items() if hosts and not key.endswith("/udp")}
    return {int(inside): int(hosts[0]["HostPort"]) for inside, hosts in bound.items() if hosts[0].get("HostPort")}
