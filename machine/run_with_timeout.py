"""A process that is asked one thing and answers, or is killed when its time is up."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Ended(NamedTuple):
    """How it ended; `returncode` None: it was killed because its time was up, negative: the signal that ended it."""

    returncode: int | None
    stdout: bytes
    stderr: bytes


def run_bounded(argv: Sequence[str], cwd: Path, environ: Mapping[str, str], stdin: bytes, timeout_s: float) -> Ended:
    """Run a process to its end with this environment and no other; raises OSError when it cannot be started."""
    try:
        done = subprocess.run(
            list(argv), cwd=cwd, env=dict(environ), input=stdin, capture_output=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        return Ended(None, b"", b"")
    return Ended(done.returncode, done.stdout, done.stderr)
