"""What runs where: configurations x GPUs, by the servers that came up or did not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Outcome(StrEnum):
    """What became of all server starts of one configuration on one kind of GPU."""

    WORKS = "works"
    FAILS = "fails"  # no server of it ever came up
    MIXED = "mixed"  # some came up and some did not


@dataclass(frozen=True, slots=True)
class Place:
    """One configuration on one kind of GPU; `gpu` None: not known."""

    configuration: str
    gpu: str | None
    came_up: int
    starts: int
    cause: str | None  # of the last start that failed, before it was ready or later
    cause_at: datetime | None  # when that one started

    @property
    def outcome(self) -> Outcome:
        """As the view `compatibility` has it."""
        return Outcome.WORKS if self.came_up == self.starts else Outcome.MIXED if self.came_up else Outcome.FAILS


@dataclass(frozen=True, slots=True)
class Stated:
    """What a document says of one configuration on one kind of GPU; nobody started it here."""

    configuration: str
    gpu: str
    works: bool | None  # None: it says that it was not tried
    memory: str
    most_context: str
    words: str
    source: str  # the document's title
    line: int


def column_of(stated: str, gpus: Iterable[str | None]) -> str:
    """The one GPU of our runs that is the stated one, or the stated name: 'RTX 5090' is 'NVIDIA GeForce RTX 5090'.

    Words behind the name make it another GPU ('RTX 5090 D'), unless they name its memory or its edition.
    """
    name = re.compile(
        rf"(NVIDIA )?(GeForce )?{re.escape(stated)}( Blackwell)?( \d+ ?GB)?( \w+ Edition)*", re.IGNORECASE
    )
    return next((gpu for gpu in gpus if gpu and name.fullmatch(gpu)), stated)


def as_one(found: Iterable[Place]) -> list[Place]:
    """Places of the same words are one: a model may lie in two folders. Each where it is first met."""
    groups: dict[tuple[str, str | None], list[Place]] = {}
    for one in found:
        groups.setdefault((one.configuration, one.gpu), []).append(one)
    return [_one(group) for group in groups.values()]


def _one(group: Sequence[Place]) -> Place:
    causes = [(one.cause_at, one.cause) for one in group if one.cause_at]
    at, cause = max(causes, key=lambda one: one[0], default=(None, None))
    up, starts = sum(one.came_up for one in group), sum(one.starts for one in group)
    return Place(group[0].configuration, group[0].gpu, up, starts, cause, at)
