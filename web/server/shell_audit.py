"""The audit hears of what was done in a shell: each list that a shell may change keeps it until the store has it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from errors import PitwallError
from machine.named_list import Record

LOOK_EVERY_S = 1.0
_log = logging.getLogger(__name__)


async def keep_recording(books: Sequence[Callable[[Record], None]], record: Record) -> None:
    """Have each give the audit what it lacks, as long as the process lives."""
    while True:
        for record_audit in books:
            try:
                await asyncio.to_thread(record_audit, record)
            except (OSError, PitwallError) as error:  # a full disk, or a store that is closing; it is tried again
                _log.warning("What was done in a shell is not in the audit yet: %s", error)
        await asyncio.sleep(LOOK_EVERY_S)
