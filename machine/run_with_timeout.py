"""A process that is asked one thing and answers, or is killed when its time is up or it says too much."""

from __future__ import annotations

import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from errors import PitwallError


class PassedLimitError(PitwallError):
    """A process was ended because it passed a limit; the message names the limit, without a stop."""


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
    """What a process prints, None where it fails; PassedLimitError where it takes longer or prints more, OSError where
    it cannot start.
    """
    deadline = time.monotonic() + timeout_s
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ
    ) as process:
        try:
            printed = _printed(process, deadline, most_bytes)
            returncode = process.wait(max(deadline - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            raise PassedLimitError(f"it took longer than {timeout_s:g} s") from None
        finally:
            process.kill()
    return printed if returncode == 0 else None


class Output(NamedTuple):
    """What a process said within its bounds; `returncode` None: it was killed because time or bytes were spent."""

    returncode: int | None
    stdout: bytes
    stderr: bytes


def ask_bounded(argv: Sequence[str], stdin: bytes, timeout_s: float, most_bytes: int) -> Output:
    """Ask a process one thing on its standard input; raises OSError when it cannot start.

    Both outputs together may hold `most_bytes`; what was said before the bound is given.
    """
    deadline = time.monotonic() + timeout_s
    with tempfile.TemporaryFile() as question:  # a pipe that nobody reads would hold us up
        question.write(stdin)
        question.seek(0)
        with subprocess.Popen(argv, stdin=question, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout and process.stderr
            said = {process.stdout: bytearray(), process.stderr: bytearray()}
            try:
                _hear(said, deadline, most_bytes)
                returncode: int | None = process.wait(max(deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                returncode = None
            finally:
                process.kill()
    return Output(returncode, bytes(said[process.stdout]), bytes(said[process.stderr]))


def _hear(said: Mapping[IO[bytes], bytearray], deadline: float, most_bytes: int) -> None:
    """Read both outputs to their ends; raises TimeoutExpired when the time or the bytes are spent."""
    with selectors.DefaultSelector() as waiting:
        for stream in said:
            waiting.register(stream, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select(max(deadline - time.monotonic(), 0.0)):
                data = os.read(key.fd, 1 << 16)
                said[key.fileobj].extend(data)  # type: ignore[index]
                if not data:
                    waiting.unregister(key.fileobj)
            if time.monotonic() >= deadline or sum(map(len, said.values())) > most_bytes:
                raise subprocess.TimeoutExpired("", 0.0)


def _printed(process: subprocess.Popen[bytes], deadline: float, most_bytes: int) -> bytes:
    """All of its output; raises TimeoutExpired when the time is spent, PassedLimitError when the bytes are."""
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
                raise PassedLimitError(f"it printed more than {most_bytes >> 20} MiB, the most that is read of it")
    raise subprocess.TimeoutExpired(process.args, 0.0)
