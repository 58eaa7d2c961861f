"""The intervals of a race after each round, at the level of one look: how they narrowed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from analysis.study.race import MIN_STARTS, race

Interval = tuple[float, float]


def interval_history(
    values: Mapping[str, Sequence[float]], margin: float, excluded: Collection[str] = (), least_sd: float = 0.0
) -> dict[str, list[Interval | None]]:
    """Return arm -> the interval of its ratio to the first arm after each of its starts; None before it has two.

    values, margin, least_sd: as given to `race`. excluded: arms that do not race.
    """
    history: dict[str, list[Interval | None]] = {name: [] for name in values}
    for count in range(1, max(map(len, values.values()), default=0) + 1):
        logs = {name: list(arm_logs[:count]) for name, arm_logs in values.items()}
        unready = [name for name, arm_logs in logs.items() if name in excluded or len(arm_logs) < MIN_STARTS]
        is_ready = len(unready) < len(logs)
        seats = race(logs, margin, unready, least_sd=least_sd).seats if is_ready else ()
        intervals = {seat.name: seat.interval for seat in seats}
        for name in history:
            if len(values[name]) >= count:
                history[name].append(intervals.get(name))
    return history
