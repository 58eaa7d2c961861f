"""A process that is asked one thing and answers, or is killed when its time is up or it says too much."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
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


def read_bounded(
    argv: Sequence[str], timeout_s: float, most_bytes: int, environ: Mapping[str, str] | None = None
) -> bytes | None:
    """What a process prints, None where it fails, takes longer or prints more; raises OSError when it cannot start."""
    deadline = time.monotonic() + timeout_s
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ
    ) as process:
        try:
            printed = _printed(process, deadline, most_bytes)
            returncode = process.wait(max(deadline - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            return None
        finally:
            process.kill()
    return printed if returncode == 0 else None


def _printed(process: subprocess.Popen[bytes], deadline: float, most_bytes: int) -> bytes:
    """All of its output; raises TimeoutExpired when the time or the bytes are spent."""
    assert process.stdout
    printed = bytearray()
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ)
        while waiting.select(max(deadline - time.monotonic(), 0.0)):
            data = os.read(process.stdout.fileno(), 1 << 16)
            if not data:
                return bytes(printed)
            printed += data
            if len(printed) > most_bytes:
                break
    raise subprocess.TimeoutExpired(process.args, 0.0)
