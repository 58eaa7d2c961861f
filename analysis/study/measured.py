"""The race of one arm, which nobody runs against: it ends when it has started as often as asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.study.race import ArmState, End, Race, Seat


def measured(values: Mapping[str, Sequence[float]], starts: int, failed: Sequence[str] = ()) -> Race:
    """values: of the one arm; starts: how many of them are wanted."""
    ((name, its),) = values.items()
    if failed:
        return Race((Seat(name, len(its), ArmState.FAILED),), (), None, End.FAILED)
    seat = Seat(name, len(its), ArmState.RACING)
    return Race((seat,), (), name, End.MEASURED) if len(its) >= starts else Race((seat,), (name,))
