"""The offset between this machine's clock and Pitwall's, estimated from round trips.

It is based on CLOCK_MONOTONIC, which cannot be set and is the same for all processes of a boot, so steps of this
machine's wall clock do not affect it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

DRIFT = 1e-4  # seconds a second: more than crystals do
KEPT = 16
SLACK_S = 0.05  # a clock is slewed too, by up to 0.5 ms a second


class RoundTrip(NamedTuple):
    """Seconds: sent and answered by our monotonic clock, received and sent back by Pitwall's, since the epoch."""

    sent_mono_s: float
    received_s: float
    returned_s: float
    answered_mono_s: float


class Related(NamedTuple):
    """A moment by Pitwall's clock, and by how much that may be wrong; None: it is not known."""

    t: float
    uncertainty_s: float | None


@dataclass(frozen=True, slots=True)
class Relation:
    """Pitwall's time at a moment of our monotonic clock."""

    mono_s: float
    t: float
    half_trip_s: float

    @classmethod
    def of(cls, trip: RoundTrip) -> Relation:
        """Half of what the way there and back took is what it cannot know."""
        way_s = (trip.answered_mono_s - trip.sent_mono_s) - (trip.returned_s - trip.received_s)
        middle = (trip.sent_mono_s + trip.answered_mono_s) / 2
        return cls(middle, (trip.received_s + trip.returned_s) / 2, max(way_s, 0.0) / 2)

    def uncertainty_s(self, mono_s: float) -> float:
        """By how much the clocks may differ from it at that moment, in seconds."""
        return self.half_trip_s + DRIFT * abs(mono_s - self.mono_s)

    def agrees_with(self, other: Relation) -> bool:
        """Whether both may be right; a step of a clock that is too small to be told apart is not one."""
        found = self.at(other.mono_s)
        return abs(found.t - other.t) <= other.half_trip_s + self.uncertainty_s(other.mono_s) + SLACK_S

    def at(self, mono_s: float) -> Related:
        """The time by Pitwall's clock at that moment, with its uncertainty."""
        return Related(self.t + mono_s - self.mono_s, self.uncertainty_s(mono_s))


class Relations:
    """The best of the last round trips."""

    def __init__(self) -> None:
        self._kept: deque[Relation] = deque(maxlen=KEPT)

    def add(self, trip: RoundTrip) -> None:
        """What contradicts it is of a clock that has been set since, and goes."""
        new = Relation.of(trip)
        agreeing = [one for one in self._kept if one.agrees_with(new)]
        self._kept = deque([*agreeing, new], maxlen=KEPT)

    def at(self, mono_s: float) -> Related | None:
        """Pitwall's time at that moment, by the round trip that is least uncertain of it; None before the first."""
        best = min(self._kept, key=lambda one: one.uncertainty_s(mono_s), default=None)
        return best.at(mono_s) if best else None
