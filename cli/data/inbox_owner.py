"""Decides who processes the inbox while a command waits: a running Pitwall, or else the command itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collectors.imports.inbox import Status
    from settings import Settings

LOOK_EVERY_S = 0.2
OWN_EVERY_S = 2.0  # how often it tries to own the store of a Pitwall that may have died


class Owner:
    """Processes the inbox of a store that no other process owns."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opened = ExitStack()
        self._owns = False
        self._tried_s = 0.0

    def __enter__(self) -> Owner:
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def try_to_own(self) -> None:
        """Own the store if no Pitwall does; asked often, tried now and then. Raises StoreError if it is unusable."""
        from storage.database import StoreInUseError

        now_s = time.monotonic()
        if self._owns or (self._tried_s and now_s - self._tried_s < OWN_EVERY_S):
            return
        self._tried_s = now_s
        try:
            self._opened.enter_context(_inbox_at_work(self._settings))
        except StoreInUseError:
            return
        self._owns = True

    def outcome_of(self, job_id: str, look: Callable[[Status], None] = lambda status: None) -> Status:
        """How a job ended, once it has; `look` is called with how far it is. Raises StoreError as `try_to_own` does."""
        from collectors.imports.inbox import forget, inbox_folder, status_of

        folder = inbox_folder(self._settings.data_dir)
        while not (status := status_of(folder, job_id)).is_over:
            self.try_to_own()
            look(status)
            time.sleep(LOOK_EVERY_S)
        forget(folder, job_id)
        return status


@contextmanager
def _inbox_at_work(settings: Settings) -> Iterator[None]:
    from service.inbox import inbox_of
    from storage.store import Store

    store = Store.open(settings)
    try:
        inbox = inbox_of(store, settings)
        inbox.start()
        try:
            yield
        finally:
            inbox.close()
    finally:
        store.close()
