"""Reads a secret for a command: from standard input, a private file or a variable, never an argument."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from errors import PitwallError

MOST_BYTES = 1024
SHORTEST = 20


class NoTokenError(PitwallError):
    """No usable token was given; the message is one sentence."""


def read_token(file: str | None, variable: str, name: str = "token", option: str = "--token-file") -> str:
    """Read a token; raises NoTokenError, OSError. file: '-' for standard input; None: the variable, then removed.

    name, option: for the message.
    """
    refusal = f"There is no valid {name}: use {option} FILE or {option} -, or set {variable}."
    if file == "-":
        return _checked(sys.stdin.readline(MOST_BYTES), refusal)
    if file is None:
        return _checked(os.environ.pop(variable, ""), refusal)
    from machine.regular_file import open_regular, pin_path

    with open_regular(pin_path(Path(file))) as opened:
        if stat.S_IMODE(os.fstat(opened.fileno()).st_mode) & 0o077:
            raise NoTokenError(f"{file} is readable by other users: run chmod 600 on it.")
        return _checked(opened.read(MOST_BYTES).decode("ascii", "replace"), refusal)


def _checked(text: str, refusal: str) -> str:
    token = text.strip()
    if not (token.isascii() and token.isprintable() and len(token) >= SHORTEST) or " " in token:
        raise NoTokenError(refusal)
    return token
