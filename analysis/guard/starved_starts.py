"""Server starts that are left out of a comparison by rule: the only one of its arm whose threads waited for a CPU.

The rule looks at the waits alone, never at the values, so it favours neither arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from analysis.comparison.arms import Arm
from analysis.comparison.starts import group_by_start
from analysis.runs.conditions import Conditions, starvation

FEWEST_LEFT = 3  # starts of an arm after one of them is left out


class StarvedStart(NamedTuple):
    """A start that is left out, with the share of its time that its threads may have lost, and the others' most."""

    name: str
    run_ids: frozenset[str]
    lost_share: float
    others_share: float


class _StartWaits(NamedTuple):
    """One start of an arm with its conditions."""

    name: str
    run_ids: frozenset[str]
    conditions: tuple[Conditions, ...]

    @property
    def lost_share(self) -> float | None:
        """The most of its loads; None if one is unknown."""
        shares = [row.lost_share for row in self.conditions]
        known_shares = [share for share in shares if share is not None]
        return max(known_shares) if known_shares and len(known_shares) == len(shares) else None


def starved_starts(arms: Sequence[Arm], margin: float) -> list[StarvedStart]:
    """Return the starts without which no two starts are unlike in their CPU waits, one per arm at most.

    Empty if all are alike anyway, or if the remaining ones are not. margin: the smallest difference that matters.
    """
    starts_by_arm = [_starts_of(arm) for arm in arms]
    starts = [start for arm_starts in starts_by_arm for start in arm_starts]
    if not _are_unlike(starts, margin):
        return []
    worst = [start for arm_starts in starts_by_arm if (start := _worst_of(arm_starts, margin))]
    candidates = sorted(worst, key=lambda start: -start.lost_share)
    for count in range(1, len(candidates) + 1):
        omitted_ids = {run_id for start in candidates[:count] for run_id in start.run_ids}
        if not _are_unlike([start for start in starts if omitted_ids.isdisjoint(start.run_ids)], margin):
            return candidates[:count]
    return []


def _starts_of(arm: Arm) -> list[_StartWaits]:
    return [
        _StartWaits(
            group[0].name,
            frozenset(run.run_id for run in group),
            tuple(row for run in group for row in run.conditions),
        )
        for group in group_by_start(arm.runs, lambda run: run.processes)
    ]


def _are_unlike(starts: Sequence[_StartWaits], margin: float) -> bool:
    rows = [row for start in starts for row in start.conditions]
    return starvation(rows, rows, margin).level == "matters"


def _worst_of(starts: Sequence[_StartWaits], margin: float) -> StarvedStart | None:
    """Return the arm's start that lost most, if it lost more than each of the others by the margin."""
    shares = [(start.lost_share, start) for start in starts if start.lost_share is not None]
    if len(starts) <= FEWEST_LEFT or len(shares) < len(starts):  # an unknown wait may be the longest
        return None
    (most, worst), (second, _), *_ = sorted(shares, key=lambda entry: -entry[0])
    return StarvedStart(worst.name, worst.run_ids, most, second) if most - second > margin else None
