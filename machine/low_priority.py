"""Runs a program at the lowest priority and hands on what it prints, so that its work costs nobody else a CPU."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

NICENESS = 19


def lower_priority() -> None:
    """Give this process the lowest priority; for a program that `printed_lines` starts."""
    os.nice(NICENESS)


@contextmanager
def printed_lines(argv: Sequence[str], cwd: Path) -> Iterator[Iterator[str]]:
    """Give the lines that the program prints, without their ends; it is killed when the block ends.

    Raises OSError if it cannot start.
    """
    with subprocess.Popen(
        list(argv), cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout
            yield (line.rstrip("\n") for line in process.stdout)
        finally:
            process.kill()
