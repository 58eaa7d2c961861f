"""Decode speed of a run without a measured load, from its windows of pure decoding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from analysis.runs.windows import Window, WindowFactors, active_windows, speed_factors


class LogSpeed(NamedTuple):
    """Decode speed by the log of a run: windows of pure decoding."""

    decode_tps: float
    windows: int
    definition: str
    window_s: float | None  # None: each line has its own


def log_speed_of(windows: Sequence[Window], known_factors: WindowFactors | None = None) -> LogSpeed | None:
    """Return the speed over the active windows; None if there are none.

    known_factors: of these windows, if they have been computed; None: compute them.
    """
    factors, active = known_factors or speed_factors(windows), active_windows(windows)
    if factors is None or not active:
        return None
    lengths = {window.window_s for window in active}
    return LogSpeed(factors.decode_tps, len(active), active[0].definition, lengths.pop() if len(lengths) == 1 else None)
