"""The intervals of a race after each round: they narrow, and the last one is the race's own."""

from __future__ import annotations

import math

from analysis.study.interval_history import interval_history
from analysis.study.race import race

PLAIN, FAST = (100.0, 101.0, 99.5, 100.5), (120.0, 122.0, 121.0, 120.5)
VALUES = {"plain": [math.log(v) for v in PLAIN], "fast": [math.log(v) for v in FAST]}


def test_intervals_narrow_to_that_of_the_race() -> None:
    first, *later = interval_history(VALUES, 0.02)["fast"]
    assert first is None, "one start has no spread"
    widths = [high / low for low, high in filter(None, later)]
    assert len(widths) == 3 and widths == sorted(widths, reverse=True)
    (seat,) = [seat for seat in race(VALUES, 0.02).seats if seat.name == "fast"]
    assert later[-1] == seat.interval


def test_arms_outside_have_none() -> None:
    history = interval_history(VALUES | {"broken": [], "late": [math.log(90.0)]}, 0.02, ["broken"])
    assert history["broken"] == [] and history["late"] == [None]
    assert history["fast"][1] is not None
    assert interval_history({"a": [], "b": []}, 0.02) == {"a": [], "b": []}
