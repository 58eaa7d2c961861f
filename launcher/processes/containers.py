"""Running containers and local images on this machine, as podman and docker report them."""

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
MOST_BYTES = 64 << 20  # of a runtime's output: thousands of inspected containers
ReportLimit = Callable[[str], object]  # takes a sentence that names an exceeded limit


def ignore_limit(sentence: str) -> None:
    """Discard a report of an exceeded limit."""


@dataclass(frozen=True, slots=True)
class RunningContainer:
    """One running container, in the terms that podman and docker share."""

    tool: str
    name: str
    image: str | None
    argv: list[str]
    pid: int | None
    started_at: datetime | None
    log_path: Path | None
    shares_host_network: bool
    ports: Mapping[int, int] = field(default_factory=dict)  # port inside -> port on this machine

    def published_port(self, inside: int) -> int | None:
        """Return the port of this machine that leads to a port inside; None if it is not published."""
        return inside if self.shares_host_network else self.ports.get(inside)


def list_containers(report_limit: ReportLimit = ignore_limit) -> list[RunningContainer]:
    """Return the running containers of every installed tool that answers."""
    return [container for tool in TOOLS if shutil.which(tool) for container in containers_of(tool, report_limit)]


def containers_of(tool: str, report_limit: ReportLimit = ignore_limit) -> list[RunningContainer]:
    """Return the running containers of one tool; none if it refuses (no daemon, no permission)."""
    ids = ask([tool, "ps", "--quiet", "--no-trunc"], report_limit=report_limit)
    inspected = ask([tool, "inspect", *ids.split()], report_limit=report_limit) if ids else None
    return [read_inspection(tool, inspection) for inspection in json.loads(inspected)] if inspected else []


class ImageLookup:
    """Looks up local images: each runtime is queried once, and all queries share `within_s` seconds."""

    def __init__(self, within_s: float = TIMEOUT_S) -> None:
        self._deadline_s = time.monotonic() + within_s
        self._answers: dict[tuple[str, str], tuple[bool | None, list[str]]] = {}

    def has(self, tool: str, image: str, report_limit: ReportLimit = ignore_limit) -> bool | None:
        """Whether the tool has this image locally; None if the tool does not answer or exceeds a limit."""
        if (tool, image) not in self._answers:
            limits = list[str]()
            has_image = None
            if self._ask(limits, tool, "version") is not None:
                has_image = self._ask(limits, tool, "image", "inspect", image) is not None
            self._answers[tool, image] = None if limits else has_image, limits
        answer, limits = self._answers[tool, image]
        for sentence in limits:
            report_limit(sentence)
        return answer

    def _ask(self, limits: list[str], *argv: str) -> str | None:
        remaining_s = max(round(self._deadline_s - time.monotonic(), 1), 0.1)
        return ask(argv, remaining_s, report_limit=limits.append)


def ask(
    argv: Sequence[str],
    timeout_s: float = TIMEOUT_S,
    environ: Mapping[str, str] | None = None,
    report_limit: ReportLimit = ignore_limit,
) -> str | None:
    """Return the output of a runtime's command; None if it fails, or exceeds a limit, which is reported."""
    try:
        answer = read_bounded(argv, timeout_s, MOST_BYTES, environ)
    except OSError:
        return None
    except PassedLimitError as limit:
        report_limit(f"The output of `{' '.join(argv)}` is unknown: {limit}.")
        return None
    return None if answer is None else answer.decode("utf-8", "replace")


def read_inspection(tool: str, inspection: Mapping[str, Any]) -> RunningContainer:
    """Parse one element of the output of `inspect`; podman and docker omit different fields."""
    state, config = inspection.get("State") or {}, inspection.get("Config") or {}
    host, network = inspection.get("HostConfig") or {}, inspection.get("NetworkSettings") or {}
    log_path = inspection.get("LogPath") or (host.get("LogConfig") or {}).get("Path")
    return RunningContainer(
        tool=tool,
        name=str(inspection.get("Name", "")).lstrip("/"),
        image=config.get("Image") or inspection.get("ImageName"),
        argv=_argv(inspection),
        pid=state.get("Pid") or None,
        started_at=datetime.fromisoformat(state["StartedAt"]) if state.get("StartedAt") else None,
        log_path=Path(log_path) if log_path and os.access(log_path, os.R_OK) else None,
        shares_host_network=host.get("NetworkMode") == "host",
        ports=_ports(network.get("Ports") or {}),
    )


def _argv(inspection: Mapping[str, Any]) -> list[str]:
    """Return the command inside: `Path` and `Args` together hold entry point and command."""
    return [str(word) for word in [inspection.get("Path"), *(inspection.get("Args") or [])] if word]


def _ports(published: Mapping[str, Any]) -> dict[int, int]:
    """Convert {'8000/tcp': [{'HostPort': '18000'}]} to {8000: 18000}."""
    bound = {key.partition("/")[0]: hosts for key, hosts in published.items() if hosts and not key.endswith("/udp")}
    return {int(inside): int(hosts[0]["HostPort"]) for inside, hosts in bound.items() if hosts[0].get("HostPort")}
