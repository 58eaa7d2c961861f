"""A thread that does the same a few times a second, and at once when it is woken."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

LOG = logging.getLogger(__name__)
TICK_S = 0.25


class Ticker:
    """Calls `tick` until it is closed; what one tick raises is logged, for every run depends on the next."""

    def __init__(self, tick: Callable[[], object], name: str) -> None:
        self._tick = tick
        self._name = name
        self._wake = threading.Event()
        self.is_closing = False
        self._thread = threading.Thread(target=self._tick_until_closed, name=name, daemon=True)

    def start(self) -> None:
        """Begin to tick."""
        self._thread.start()

    def wake(self) -> None:
        """Tick now."""
        self._wake.set()

    def close(self) -> None:
        """End the thread after the tick that goes on."""
        self.is_closing = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def _tick_until_closed(self) -> None:
        while not self.is_closing:
            try:
                self._tick()
            except Exception:
                LOG.exception("a tick of the %s broke off", self._name)
            self._wake.wait(TICK_S)
            self._wake.clear()
