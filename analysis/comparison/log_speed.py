"""Decode speed of a run without a measured load, from its windows of pure decoding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from analysis.runs.speed_summary import WindowFactors, speed_factors
from analysis.runs.windows import Window, WindowColumns


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
    columns = WindowColumns.of(windows)
    factors, is_active = known_factors or speed_factors(windows), columns.is_active
    if factors is None or columns.definition is None:
        return None
    lengths = np.unique(columns.window_s[is_active])
    window_s = float(lengths[0]) if len(lengths) == 1 and not np.isnan(lengths[0]) else None
    return LogSpeed(factors.decode_tps, int(is_active.sum()), columns.definition, window_s)
