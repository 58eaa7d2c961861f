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
    """Copy new entries of each list into the store's audit, as long as the process runs; a problem is logged once."""
    problems = [""] * len(books)
    while True:
        for number, record_audit in enumerate(books):
            problem = await _problem(record_audit, record)
            if problem and problem != problems[number]:
                _log.warning("Changes made in a shell are not in the audit yet: %s", problem)
            problems[number] = problem
        await asyncio.sleep(LOOK_EVERY_S)


async def _problem(record_audit: Callable[[Record], None], record: Record) -> str:
    """Return why the entries of a list could not be copied, which is tried again: a full disk, a closing store."""
    try:
        await asyncio.to_thread(record_audit, record)
    except (OSError, PitwallError) as error:
        return str(error) or type(error).__name__
    return ""
