"""Claim to the store of a Pitwall that starts or runs: commands that own the store meanwhile hand it over.

The claim is the lock of a file, which the kernel releases even after kill -9. Whoever owns the store also has the lock
of the database file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from machine.private_files import FILE_MODE, private_folder
from settings import Settings
from storage.database import StoreError, StoreInCommandError, in_use_error
from storage.store import Store

POLL_S = 0.1
CLAIM_S = 1.0  # a command that looks at the claim has its lock for a moment
HAND_OVER_S = 60.0
MOST_PID_BYTES = 20


@contextmanager
def claimed_store(settings: Settings) -> Iterator[None]:
    """Hold the claim to the store; raises StoreInUseError if another Pitwall holds it, StoreError."""
    try:
        private_folder(settings.data_dir)
        claim = os.open(settings.claim_path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
    except OSError as error:
        raise StoreError(f"{settings.claim_path} cannot be opened: {error.strerror}.") from error
    try:
        _lock(claim, settings)
        with suppress(OSError):  # a full disk; the number is only for the refusal of another Pitwall
            os.ftruncate(claim, 0)
            os.pwrite(claim, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(claim)


def _lock(claim: int, settings: Settings) -> None:
    deadline_s = time.monotonic() + CLAIM_S
    while not _try_lock(claim, fcntl.LOCK_EX):
        if time.monotonic() > deadline_s:
            pid = os.pread(claim, MOST_PID_BYTES, 0)
            raise in_use_error(int(pid) if pid.isdigit() else 0, settings.data_dir)
        time.sleep(POLL_S)


def _try_lock(claim: int, kind: int) -> bool:
    """Return whether nobody else has the lock; where the file system has no locks, nobody has."""
    try:
        fcntl.flock(claim, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP):
            raise
    return True


def is_store_claimed(settings: Settings) -> bool:
    """Return whether a Pitwall starts or runs, to which a command hands the store over."""
    try:
        claim = os.open(settings.claim_path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return not _try_lock(claim, fcntl.LOCK_SH)
    finally:
        os.close(claim)


def open_handed_over(settings: Settings, tell: Callable[[str], None], timeout_s: float = HAND_OVER_S) -> Store:
    """Open the store, waiting for a command that owns it; `tell` takes a sentence about whom.

    The claim makes the command hand it over. Raises StoreInCommandError if it does not in time, StoreError.
    """
    deadline_s = time.monotonic() + timeout_s
    refusal_text = ""
    while True:
        try:
            return Store.open(settings)
        except StoreInCommandError as refusal:
            if time.monotonic() > deadline_s:
                raise
            if str(refusal) != refusal_text:
                refusal_text = str(refusal)
                tell(f"Pitwall waits up to {timeout_s:.0f} s for a command to hand the store over. {refusal_text}")
        time.sleep(POLL_S)
