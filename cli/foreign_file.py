"""Reads files named on the command line: regular ones of limited size, because a pipe or a device may be endless."""

from __future__ import annotations

import sys
from pathlib import Path

from errors import PitwallError

STANDARD_INPUT = "-"


class TooLargeError(PitwallError):
    """A file exceeds the size limit of its kind; the message is one sentence."""


def read_bounded_file(file: str | Path, most_bytes: int) -> bytes:
    """Read a whole file, '-' for standard input, which may be a pipe.

    Raises TooLargeError, NotRegularError, OSError.
    """
    from machine.regular_file import open_regular, pin_path

    if str(file) == STANDARD_INPUT:
        data = sys.stdin.buffer.read(most_bytes + 1)
    else:
        with open_regular(pin_path(Path(file))) as opened:
            data = opened.read(most_bytes + 1)
    if len(data) > most_bytes:
        name = "Standard input" if str(file) == STANDARD_INPUT else file
        raise TooLargeError(f"{name} is larger than the limit of {most_bytes >> 20} MiB.")
    return data
