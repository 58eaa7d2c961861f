"""Thread that calls a function a few times per second, and immediately when it is woken."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

LOG = logging.getLogger(__name__)
TICK_S = 0.25


class Ticker:
    """Calls `tick` until it is closed; an exception in one tick is logged, since every run depends on the next."""

    def __init__(self, tick: Callable[[], object], name: str) -> None:
        self._tick = tick
        self._name = name
        self._wake = threading.Event()
        self.is_closing = False
        self._thread = threading.Thread(target=self._tick_until_closed, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Tick immediately."""
        self._wake.set()

    def close(self) -> None:
        """End the thread after the current tick."""
        self.is_closing = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def _tick_until_closed(self) -> None:
        while not self.is_closing:
            try:
                self._tick()
            except Exception:
                LOG.exception("a tick of the %s failed", self._name)
            self._wake.wait(TICK_S)
            self._wake.clear()
