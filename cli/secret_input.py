"""A token for a command: from standard input, a closed file or the environment, never from an argument."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from errors import PitwallError

MOST_BYTES = 1024
SHORTEST = 20


class NoTokenError(PitwallError):
    """There is none that may be used, in one sentence."""


def read_token(file: str | None, variable: str) -> str:
    """`file`: '-' for standard input; None: the variable, which is taken out. Raises NoTokenError, OSError."""
    if file == "-":
        return _checked(sys.stdin.readline(MOST_BYTES), variable)
    if file is None:
        return _checked(os.environ.pop(variable, ""), variable)
    from machine.regular_file import opened, pinned

    with opened(pinned(Path(file))) as given:
        if stat.S_IMODE(os.fstat(given.fileno()).st_mode) & 0o077:
            raise NoTokenError(f"{file} may be read by others: chmod 600 it.")
        return _checked(given.read(MOST_BYTES).decode("ascii", "replace"), variable)


def _checked(text: str, variable: str) -> str:
    token = text.strip()
    if not (token.isascii() and token.isprintable() and len(token) >= SHORTEST) or " " in token:
        raise NoTokenError(f"There is no token: say --token-file FILE, --token-file - or set {variable}.")
    return token
