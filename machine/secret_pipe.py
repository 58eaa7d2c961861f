"""Passes a secret from one process to another of the same user through a named pipe: no file ever holds it."""

from __future__ import annotations

import os
import select
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from errors import PitwallError

MOST_BYTES = 4096
RECEIVE_WITHIN_S = 5.0


class NoSecretError(PitwallError):
    """No secret came through a pipe; the message is one sentence."""


@contextmanager
def offered_secret(path: Path, secret: str) -> Iterator[None]:
    """Offer the secret to the first reader of a pipe at `path`, within the context; raises OSError."""
    os.mkfifo(path, 0o600)
    threading.Thread(target=_send, args=(path, secret), name="secret-pipe", daemon=True).start()
    try:
        yield
    finally:
        with suppress(OSError):  # releases the thread if nobody has read
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        path.unlink(missing_ok=True)


def _send(path: Path, secret: str) -> None:
    with suppress(OSError), path.open("wb") as pipe:  # waits for the reader
        pipe.write(secret.encode())


def receive_secret(path: Path, limit_s: float = RECEIVE_WITHIN_S) -> str:
    """Return the secret that another process offers; raises NoSecretError."""
    ends_s = time.monotonic() + limit_s
    data = b""
    try:
        pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as error:
        raise NoSecretError("The process that offered a key has ended: try again.") from error
    try:
        _check_own_pipe(pipe)
        while len(data) <= MOST_BYTES and (wait_s := ends_s - time.monotonic()) > 0:
            ready, _, _ = select.select([pipe], [], [], wait_s)
            if not ready:
                break
            with suppress(BlockingIOError):
                piece = os.read(pipe, MOST_BYTES)
                if data and not piece:
                    return data.decode(errors="replace")
                data += piece
                if not piece:
                    time.sleep(0.01)  # the other process has not opened it yet
    finally:
        os.close(pipe)
    raise NoSecretError("No key came from the process that offered one: try again.")


def _check_own_pipe(pipe: int) -> None:
    """Refuse what is no pipe of this user alone; raises NoSecretError."""
    status = os.fstat(pipe)
    is_own = (
        stat.S_ISFIFO(status.st_mode) and status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o077
    )
    if not is_own:
        raise NoSecretError("A key is taken only from a private pipe of this user.")
