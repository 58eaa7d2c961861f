"""Closes opened services in reverse order."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack

LOG = logging.getLogger(__name__)


class ClosingStack(ExitStack):
    """An exit stack that closes all opened services, last opened first, even after an error."""

    def close_later(self, name: str, close: Callable[..., object], *args: object) -> None:
        """Register a service to close; an error is logged and does not affect the others."""
        self.callback(self._closed, name, close, *args)

    @staticmethod
    def _closed(name: str, close: Callable[..., object], *args: object) -> None:
        try:
            close(*args)
        except Exception:
            LOG.exception("%s could not be closed", name)
