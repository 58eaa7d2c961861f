"""Compatibility of configurations with GPUs, by the servers that came up or did not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class StartupOutcome(StrEnum):
    """Outcome of all server starts of one configuration on one kind of GPU."""

    WORKS = "works"
    FAILS = "fails"  # no server ever came up
    MIXED = "mixed"  # some came up and some did not


@dataclass(frozen=True, slots=True)
class GpuCompatibility:
    """One configuration on one kind of GPU; `gpu` None: not known."""

    configuration: str
    gpu: str | None
    came_up: int
    starts: int
    cause: str | None  # of the last failed start, before or after readiness
    cause_at: datetime | None  # time of that start

    @property
    def outcome(self) -> StartupOutcome:
        """The outcome, as in the view `compatibility`."""
        return (
            StartupOutcome.WORKS
            if self.came_up == self.starts
            else StartupOutcome.MIXED
            if self.came_up
            else StartupOutcome.FAILS
        )


@dataclass(frozen=True, slots=True)
class StatedCompatibility:
    """A document's statement about one configuration on one kind of GPU, not started here."""

    configuration: str
    gpu: str
    works: bool | None  # None: stated as untested
    memory: str
    most_context: str
    words: str
    source: str  # the document's title
    line: int


def gpu_column(stated_gpu: str, gpus: Iterable[str | None]) -> str:
    """Return the GPU of the runs that matches the stated name, else that name: 'RTX 5090' is 'NVIDIA GeForce RTX 5090'.

    Words after the name mean another GPU ('RTX 5090 D'), unless they name its memory or its edition.
    """
    name = re.compile(
        rf"(NVIDIA )?(GeForce )?{re.escape(stated_gpu)}( Blackwell)?( \d+ ?GB)?( \w+ Edition)*", re.IGNORECASE
    )
    return next((gpu for gpu in gpus if gpu and name.fullmatch(gpu)), stated_gpu)


def merge_duplicates(entries: Iterable[GpuCompatibility]) -> list[GpuCompatibility]:
    """Merge entries with equal labels, since a model may be in two folders; order of first occurrence."""
    groups: dict[tuple[str, str | None], list[GpuCompatibility]] = {}
    for entry in entries:
        groups.setdefault((entry.configuration, entry.gpu), []).append(entry)
    return [_merge_group(group) for group in groups.values()]


def _merge_group(group: Sequence[GpuCompatibility]) -> GpuCompatibility:
    causes = [(entry.cause_at, entry.cause) for entry in group if entry.cause_at]
    cause_at, cause = max(causes, key=lambda dated_cause: dated_cause[0], default=(None, None))
    up, starts = sum(entry.came_up for entry in group), sum(entry.starts for entry in group)
    return GpuCompatibility(group[0].configuration, group[0].gpu, up, starts, cause, cause_at)
