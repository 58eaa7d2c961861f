"""Clocks related by round trips: what is found is right within what it says of itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.agents.clock_offset import DRIFT, ClockRelations, RoundTrip

AHEAD_S = 1_795_000_000.0  # Pitwall's time at our monotonic 0


def trip(sent: float, there: float, work: float, back: float) -> RoundTrip:
    """As true clocks would see it."""
    received = sent + there
    return RoundTrip(sent, AHEAD_S + received, AHEAD_S + received + work, received + work + back)


seconds = st.floats(min_value=0, max_value=5)


@given(there=seconds, work=seconds, back=seconds, later=st.floats(min_value=-1000, max_value=1000))
def test_the_truth_lies_within_the_uncertainty(there: float, work: float, back: float, later: float) -> None:
    relations = ClockRelations()
    relations.add(trip(1000.0, there, work, back))
    found = relations.at(1000.0 + later)
    assert found and found.uncertainty_s is not None
    assert abs(found.t - (AHEAD_S + 1000.0 + later)) <= found.uncertainty_s + 1e-6


@pytest.mark.parametrize("step_s", [-3600.0, -1.0, 1.0, 3600.0])
def test_pitwall_clock_change_is_followed_at_once(step_s: float) -> None:
    relations = ClockRelations()
    for number in range(16):
        relations.add(trip(float(number), 0.001, 0.0, 0.001))
    late = trip(20.0, 0.1, 0.0, 0.1)
    relations.add(late._replace(received_s=late.received_s + step_s, returned_s=late.returned_s + step_s))
    found = relations.at(21.0)
    assert found and abs(found.t - (AHEAD_S + 21.0 + step_s)) <= 0.2


def test_shortest_route_is_trusted_while_fresh() -> None:
    relations = ClockRelations()
    assert relations.at(0.0) is None
    relations.add(trip(0.0, 0.001, 0.5, 0.001))
    relations.add(trip(9_000.0, 0.4, 0.0, 0.0))
    near, far = relations.at(10.0), relations.at(10_000.0)
    assert near and near.uncertainty_s == pytest.approx(0.001 + DRIFT * 10, rel=0.1)
    assert far and far.uncertainty_s == pytest.approx(0.2 + DRIFT * 1000, rel=0.1)
