"""Copies audit entries made in a shell into the store; each list that a shell may change keeps them until then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from errors import PitwallError
from machine.named_list import Record

LOOK_EVERY_S = 1.0
_log = logging.getLogger(__name__)


async def keep_recording(books: Sequence[Callable[[Record], None]], record: Record) -> None:
    """Copy new entries of each list into the store's audit, as long as the process runs."""
    while True:
        for record_audit in books:
            try:
                await asyncio.to_thread(record_audit, record)
            except (OSError, PitwallError) as error:  # a full disk or a closing store; retried
                _log.warning("Changes made in a shell are not in the audit yet: %s", error)
        await asyncio.sleep(LOOK_EVERY_S)
