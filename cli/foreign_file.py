"""Files that the command line is given: of a bounded size, and regular ones, for a pipe or a device may have no end."""

from __future__ import annotations

import sys
from pathlib import Path

from errors import PitwallError

STANDARD_INPUT = "-"


class TooLargeError(PitwallError):
    """A file is larger than any of its kind; the message is one sentence."""


def read_given(file: str | Path, most_bytes: int) -> bytes:
    """All of it, '-' for standard input, which may be a pipe; raises TooLargeError, NotRegularError, OSError."""
    from machine.regular_file import opened, pinned

    if str(file) == STANDARD_INPUT:
        data = sys.stdin.buffer.read(most_bytes + 1)
    else:
        with opened(pinned(Path(file))) as given:
            data = given.read(most_bytes + 1)
    if len(data) > most_bytes:
        name = "Standard input" if str(file) == STANDARD_INPUT else file
        raise TooLargeError(f"{name} is larger than {most_bytes >> 20} MiB, the most that is read of it.")
    return data
