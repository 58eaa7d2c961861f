"""Study of several settings at once: each proposed combination starts once, then the best of them race.

The starts that selected the racers do not count in the race, because the best of many single starts is partly lucky.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FINALISTS = 3  # besides the first arm, the reference of ratios


@dataclass(frozen=True, slots=True)
class ExplorationStep:
    """Next step of the exploration: at most one of `probe`, `wants_more` and `racers` is set."""

    probe: str | None = None  # the combination that starts next
    wants_more: bool = False  # another combination must be proposed
    racers: tuple[str, ...] = ()


def explore(arms: Sequence[str], scores: Mapping[str, float | None], trials: int) -> ExplorationStep:
    """Return the next step. arms: in order of proposal. scores: started arm -> score of its start, None: failed."""
    if waiting := [name for name in arms if name not in scores]:
        return ExplorationStep(probe=waiting[0])
    if len(arms) < trials:
        return ExplorationStep(wants_more=True)
    scored = {name: score for name, score in scores.items() if score is not None}
    best = sorted(scored, key=lambda name: -scored[name])[:FINALISTS]
    return ExplorationStep(racers=tuple(name for name in arms if name in best or (name == arms[0] and name in scored)))
