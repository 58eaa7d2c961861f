"""Offset between this machine's clock and Pitwall's, estimated from round trips.

It is based on CLOCK_MONOTONIC, which cannot be set and is the same for all processes of a boot, so steps of this
machine's wall clock do not affect it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

DRIFT = 1e-4  # seconds per second: more than quartz clocks drift
MAX_TRIPS = 16
SLACK_S = 0.05  # clocks are also slewed, by up to 0.5 ms per second


class RoundTrip(NamedTuple):
    """Sent and answered: agent's monotonic seconds; received and returned: Pitwall's seconds since the epoch."""

    sent_mono_s: float
    received_s: float
    returned_s: float
    answered_mono_s: float


class PitwallTime(NamedTuple):
    """A time by Pitwall's clock (seconds since the epoch) and its maximum error; None: unknown."""

    t: float
    uncertainty_s: float | None


@dataclass(frozen=True, slots=True)
class ClockRelation:
    """Pitwall's time at one reading of the agent's monotonic clock."""

    mono_s: float
    t: float
    half_trip_s: float

    @classmethod
    def from_trip(cls, trip: RoundTrip) -> ClockRelation:
        """Estimate from a round trip; half of its travel time is the uncertainty."""
        travel_s = (trip.answered_mono_s - trip.sent_mono_s) - (trip.returned_s - trip.received_s)
        middle_mono_s = (trip.sent_mono_s + trip.answered_mono_s) / 2
        return cls(middle_mono_s, (trip.received_s + trip.returned_s) / 2, max(travel_s, 0.0) / 2)

    def uncertainty_s(self, mono_s: float) -> float:
        """Return the maximum error at this monotonic time, in seconds."""
        return self.half_trip_s + DRIFT * abs(mono_s - self.mono_s)

    def agrees_with(self, newer: ClockRelation) -> bool:
        """Return whether both may be right; clock steps below the uncertainty are not detected."""
        expected = self.at(newer.mono_s)
        return abs(expected.t - newer.t) <= newer.half_trip_s + self.uncertainty_s(newer.mono_s) + SLACK_S

    def at(self, mono_s: float) -> PitwallTime:
        """Return Pitwall's time at this monotonic time, with its uncertainty."""
        return PitwallTime(self.t + mono_s - self.mono_s, self.uncertainty_s(mono_s))


class ClockRelations:
    """Estimates of the last round trips, of which the least uncertain is used."""

    def __init__(self) -> None:
        self._relations: deque[ClockRelation] = deque(maxlen=MAX_TRIPS)

    def add(self, trip: RoundTrip) -> None:
        """Add an estimate; earlier ones that contradict it predate a clock step and are dropped."""
        newest = ClockRelation.from_trip(trip)
        agreeing = [relation for relation in self._relations if relation.agrees_with(newest)]
        self._relations = deque([*agreeing, newest], maxlen=MAX_TRIPS)

    def at(self, mono_s: float) -> PitwallTime | None:
        """Return Pitwall's time by the least uncertain estimate; None before the first round trip."""
        best = min(self._relations, key=lambda relation: relation.uncertainty_s(mono_s), default=None)
        return best.at(mono_s) if best else None
