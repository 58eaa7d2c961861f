"""Wall clock for samples that never runs backwards.

If the machine's clock is set back by an hour, new samples would get the timestamps of an hour ago, and the newest
would not be last. Pitwall's clock therefore continues, an hour ahead of the machine's, until the machine's clock is
set forward again or Pitwall restarts. It follows steps forward, and corrections of less than 10 s in both directions.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from collectors.base import Clock

LOG = logging.getLogger(__name__)
SLACK_S = 10.0  # time synchronization makes small corrections only


class ForwardClock:
    """Source of all timestamps of samples; safe from any thread."""

    def __init__(self, wall_s: Callable[[], float] = time.time, mono_s: Callable[[], float] = time.monotonic) -> None:
        self.ahead_s = 0.0  # of the machine's clock
        self._wall_s = wall_s
        self._mono_s = mono_s
        self._lock = threading.Lock()
        self._offset_s = wall_s() - mono_s()

    def utc(self) -> datetime:
        """Return the current time in UTC; a step back of the machine's clock by 10 s or more is not followed."""
        with self._lock:
            wall_s = self._wall_s()
            offset_s = wall_s - self._mono_s()
            self._apply_step(offset_s - self._offset_s)
            self._offset_s = offset_s
            return datetime.fromtimestamp(wall_s, UTC) + timedelta(seconds=self.ahead_s)

    def _apply_step(self, step_s: float) -> None:
        if abs(step_s) < SLACK_S:
            return
        self.ahead_s = max(0.0, self.ahead_s - step_s)
        LOG.warning("The machine's clock was set by %+.0f s; Pitwall's is %.0f s ahead of it.", step_s, self.ahead_s)


def forward_clock() -> Clock:
    """Return the clock that collectors and supervisor share."""
    clock = ForwardClock()
    return Clock(clock.utc, ahead_s=lambda: clock.ahead_s)
