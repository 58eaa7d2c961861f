"""What runs where: configurations x GPUs, by the servers that came up or did not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    WORKS = "works"
    FAILS = "fails"  # no server of it ever came up
    MIXED = "mixed"  # some came up and some did not


@dataclass(frozen=True, slots=True)
class Attempt:
    """One server start; `gpu` None: not known."""

    configuration: str
    gpu: str | None
    came_up: bool
    cause: str | None  # why it did not, or why it ended later
    run_id: str


@dataclass(frozen=True, slots=True)
class Place:
    """One configuration on one kind of GPU."""

    configuration: str
    gpu: str | None
    outcome: Outcome
    came_up: int
    starts: int
    cause: str | None  # of the last start that failed
    run_ids: tuple[str, ...]


def places(attempts: Iterable[Attempt]) -> list[Place]:
    """Each configuration and GPU in the order in which it is first met; attempts are given oldest first."""
    groups: dict[tuple[str, str | None], list[Attempt]] = {}
    for one in attempts:
        groups.setdefault((one.configuration, one.gpu), []).append(one)
    return [_place(*key, group) for key, group in groups.items()]


def _place(configuration: str, gpu: str | None, group: list[Attempt]) -> Place:
    up = sum(one.came_up for one in group)
    outcome = Outcome.WORKS if up == len(group) else Outcome.MIXED if up else Outcome.FAILS
    cause = next((one.cause for one in reversed(group) if one.cause), None)
    return Place(configuration, gpu, outcome, up, len(group), cause, tuple(one.run_id for one in group))
