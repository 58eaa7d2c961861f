"""A study of several settings at once: each proposed combination starts once, then the best of them race.

The starts by which the racers were chosen do not count in the race: of many, the best once is partly lucky.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FINALISTS = 3  # beside the first arm, against which ratios are given


@dataclass(frozen=True, slots=True)
class Explored:
    """How far it is: at most one of `probe`, `wants_more` and `racers` says something."""

    probe: str | None = None  # the combination that starts next
    wants_more: bool = False  # one has to be proposed
    racers: tuple[str, ...] = ()


def explore(arms: Sequence[str], went: Mapping[str, float | None], trials: int) -> Explored:
    """arms: in the order of their proposal. went: those that started -> the score of that start, None: it failed."""
    if waiting := [name for name in arms if name not in went]:
        return Explored(probe=waiting[0])
    if len(arms) < trials:
        return Explored(wants_more=True)
    scored = {name: score for name, score in went.items() if score is not None}
    best = sorted(scored, key=lambda name: -scored[name])[:FINALISTS]
    return Explored(racers=tuple(name for name in arms if name in best or (name == arms[0] and name in scored)))
