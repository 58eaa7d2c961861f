"""A machine's clock that is set while Pitwall runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from collectors.forward_clock import ForwardClock

START = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR_S = 3600.0


class Machine:
    """Its two clocks."""

    def __init__(self) -> None:
        self.wall_s = START.timestamp()
        self.mono_s = 1000.0
        self.clock = ForwardClock(lambda: self.wall_s, lambda: self.mono_s)

    def passes(self, seconds: float) -> None:
        self.wall_s += seconds
        self.mono_s += seconds

    def told(self) -> float:
        """Seconds since the start, as Pitwall tells them."""
        return (self.clock.utc() - START) / timedelta(seconds=1)


def test_backward_clock_continues_from_its_value() -> None:
    machine = Machine()
    machine.passes(60)
    assert machine.told() == 60
    machine.wall_s -= HOUR_S
    assert (machine.told(), machine.clock.ahead_s) == (60, HOUR_S)
    machine.passes(5)
    assert machine.told() == 65


def test_set_forward_again_it_is_the_machines() -> None:
    machine = Machine()
    machine.wall_s -= HOUR_S
    assert machine.told() == 0
    machine.wall_s += HOUR_S / 2
    assert (machine.told(), machine.clock.ahead_s) == (0, HOUR_S / 2)
    machine.wall_s += HOUR_S
    assert (machine.told(), machine.clock.ahead_s) == (HOUR_S / 2, 0)


def test_set_forward_it_is_followed_at_once() -> None:
    machine = Machine()
    machine.wall_s += HOUR_S
    assert (machine.told(), machine.clock.ahead_s) == (HOUR_S, 0)


def test_small_corrections_are_followed_both_ways() -> None:
    machine = Machine()
    for correction_s in (0.5, -2.0, 1.5):
        machine.wall_s += correction_s
        machine.passes(60)
    assert (machine.told(), machine.clock.ahead_s) == (180, 0)
