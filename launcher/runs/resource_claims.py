"""What a run needs exclusively while its server is up: its port, and its GPUs as far as they are known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from commands.gpus import stated_gpus
from domain import Config, Run
from launcher.checks.addresses import default_base_url
from launcher.checks.preflight import port_of


def gpus_of(config: Config) -> frozenset[int] | None:
    """The GPUs that a config confines its server to, by number; None: not known, so it may use every one.

    Which number a UUID stands for is not known before the start.
    """
    stated = stated_gpus(config)
    return frozenset(map(int, stated)) if stated and all(word.isdecimal() for word in stated) else None


class Claim(NamedTuple):
    """What one run takes; `gpus` None is the whole machine, `host` None this one."""

    gpus: frozenset[int] | None
    port: int
    host: str | None = None

    def competes_with(self, other: Claim) -> bool:
        """Whether the two cannot be served at the same time."""
        if self.host != other.host:
            return False
        return self.port == other.port or self.gpus is None or other.gpus is None or bool(self.gpus & other.gpus)


def claim_of(run: Run) -> Claim:
    """The claim of a launched run."""
    assert run.base_url
    url = default_base_url(run.config) if run.on_host else None  # its own is that of the way there
    return Claim(gpus_of(run.config), port_of(url or run.base_url), run.on_host)


def span_s(runs: Iterable[tuple[Run, float]]) -> float:
    """Seconds until the last of these runs is over, each taking so long and waiting for those it competes with."""
    ends: list[tuple[Claim, float]] = []
    for run, seconds in runs:
        claim = claim_of(run)
        start = max((end for other, end in ends if claim.competes_with(other)), default=0.0)
        ends.append((claim, start + seconds))
    return max((end for _, end in ends), default=0.0)
