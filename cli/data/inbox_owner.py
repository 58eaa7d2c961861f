"""Decides who processes the inbox while a command waits: a Pitwall that starts or runs, or else the command itself."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collectors.imports.inbox import Status
    from settings import Settings

POLL_S = 0.2
HANDED_OVER = "Pitwall starts: it takes the store over, and completes what this command waits for."
RETRY_OWN_S = 2.0  # between attempts to own the store, since its Pitwall may have died


class InboxOwner:
    """Processes the inbox of a store that no other process owns, and hands the store over to a Pitwall that starts."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._resources = ExitStack()
        self._owns = False
        self._tried_s = 0.0

    def __enter__(self) -> InboxOwner:
        from machine.regular_file import follow_own

        follow_own(self._settings.data_dir)
        return self

    def __exit__(self, *error: object) -> None:
        self._resources.close()

    def try_to_own(self) -> None:
        """Own the store unless a Pitwall does or wants it, tried every RETRY_OWN_S; raises StoreError if unusable."""
        from storage.claim import is_store_claimed
        from storage.database import StoreInUseError

        if is_store_claimed(self._settings):
            self._hand_over()
            return
        now_s = time.monotonic()
        if self._owns or (self._tried_s and now_s - self._tried_s < RETRY_OWN_S):
            return
        self._tried_s = now_s
        try:
            self._resources.enter_context(_open_inbox(self._settings))
        except StoreInUseError:
            return
        self._owns = True

    def _hand_over(self) -> None:
        if self._owns:
            self._owns = False
            self._resources.close()
            print(HANDED_OVER, file=sys.stderr, flush=True)

    def wait_for_job(self, job_id: str, report_progress: Callable[[Status], None] = lambda status: None) -> Status:
        """Wait for the end of a job and return its status; `report_progress` takes earlier ones. Raises StoreError."""
        from collectors.imports.inbox import cancel_job, inbox_folder, job_status

        folder = inbox_folder(self._settings.data_dir)
        while not (status := job_status(folder, job_id)).is_over:
            self.try_to_own()
            report_progress(status)
            time.sleep(POLL_S)
        cancel_job(folder, job_id)  # with the job itself, whose owner may have been killed before it removed it
        return status


@contextmanager
def _open_inbox(settings: Settings) -> Iterator[None]:
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
