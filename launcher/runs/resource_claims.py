"""Resources that a run needs exclusively while its server is up: its port, and its GPUs if they are known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from commands.gpus import stated_gpus
from domain import Config, Run
from launcher.checks.addresses import default_base_url
from launcher.checks.launch_request import port_of


def gpus_of(config: Config) -> frozenset[int] | None:
    """Return the numbers of the GPUs that a config restricts its server to; None: unknown, so it may use all.

    The number behind a UUID is unknown before the start.
    """
    gpu_words = stated_gpus(config)
    return frozenset(map(int, gpu_words)) if gpu_words and all(word.isdecimal() for word in gpu_words) else None


class ResourceClaim(NamedTuple):
    """Resources of one run; `gpus` None: all of the machine, `host` None: this machine."""

    gpus: frozenset[int] | None
    port: int
    host: str | None = None

    def competes_with(self, other: ResourceClaim) -> bool:
        """Whether the two runs cannot be served at the same time."""
        if self.host != other.host:
            return False
        return self.port == other.port or self.gpus is None or other.gpus is None or bool(self.gpus & other.gpus)


def claim_of(run: Run) -> ResourceClaim:
    """Return the claim of a launched run."""
    assert run.base_url
    url = default_base_url(run.config) if run.on_host else None  # its base_url is the local end of the connection
    return ResourceClaim(gpus_of(run.config), port_of(url or run.base_url), run.on_host)


def start_delays_s(runs: Iterable[tuple[Run, float]]) -> list[float]:
    """Return the seconds until each of these runs starts, given their durations: each waits for competing ones."""
    ends: list[tuple[ResourceClaim, float]] = []
    delays = list[float]()
    for run, seconds in runs:
        claim = claim_of(run)
        delays.append(max((end for earlier, end in ends if claim.competes_with(earlier)), default=0.0))
        ends.append((claim, delays[-1] + seconds))
    return delays
