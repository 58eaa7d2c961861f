"""Parts that were opened one after the other, closed in reverse."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack

LOG = logging.getLogger(__name__)


class Opened(ExitStack):
    """What was opened so far; left, also by an error half-way, it closes all of it, what was opened last first."""

    def close_later(self, name: str, close: Callable[..., object], *args: object) -> None:
        """Close this part in its turn; one that fails is said in the log and keeps no other open."""
        self.callback(self._closed, name, close, *args)

    @staticmethod
    def _closed(name: str, close: Callable[..., object], *args: object) -> None:
        try:
            close(*args)
        except Exception:
            LOG.exception("%s could not be closed; the rest is", name)
