"""Race of a single arm, which ends after the requested number of starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.study.race import ArmState, Race, RaceEnd, Seat


def single_arm_race(values: Mapping[str, Sequence[float]], starts: int, failed: Sequence[str] = ()) -> Race:
    """Return the race of the only arm in `values`; starts: the requested number."""
    ((name, logs),) = values.items()
    if failed:
        return Race((Seat(name, len(logs), ArmState.FAILED),), (), None, RaceEnd.FAILED)
    seat = Seat(name, len(logs), ArmState.RACING)
    return Race((seat,), (), name, RaceEnd.MEASURED) if len(logs) >= starts else Race((seat,), (name,))
