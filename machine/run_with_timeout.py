"""Runs a process once and reads its output; kills it when it runs too long or prints too much."""

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
    """A process was ended because it passed a limit; the message names the limit, without a full stop."""


class ProcessOutput(NamedTuple):
    """Exit status and output; `returncode` None: killed at a limit, negative: ended by that signal."""

    returncode: int | None
    stdout: bytes
    stderr: bytes


def run_bounded(
    argv: Sequence[str], cwd: Path, environ: Mapping[str, str], stdin: bytes, timeout_s: float
) -> ProcessOutput:
    """Run a process to its end with exactly this environment; raises OSError if it cannot start."""
    try:
        completed = subprocess.run(
            list(argv), cwd=cwd, env=dict(environ), input=stdin, capture_output=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        return ProcessOutput(None, b"", b"")
    return ProcessOutput(completed.returncode, completed.stdout, completed.stderr)


def read_bounded(
    argv: Sequence[str], timeout_s: float, max_bytes: int, environ: Mapping[str, str] | None = None
) -> bytes | None:
    """Return what a process prints, None if it fails.

    Raises PassedLimitError if it runs longer or prints more, OSError if it cannot start.
    """
    deadline = time.monotonic() + timeout_s
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ
    ) as process:
        try:
            output = _read_output(process, deadline, max_bytes)
            returncode = process.wait(max(deadline - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            raise PassedLimitError(f"it took longer than {timeout_s:g} s") from None
        finally:
            process.kill()
    return output if returncode == 0 else None


def ask_bounded(argv: Sequence[str], stdin: bytes, timeout_s: float, max_bytes: int) -> ProcessOutput:
    """Run a process with this standard input; raises OSError if it cannot start.

    Both outputs together may hold `max_bytes`; what was printed before a limit is returned.
    """
    deadline = time.monotonic() + timeout_s
    with tempfile.TemporaryFile() as question:  # writing to a pipe that nobody reads would block
        question.write(stdin)
        question.seek(0)
        with subprocess.Popen(argv, stdin=question, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout and process.stderr
            outputs = {process.stdout: bytearray(), process.stderr: bytearray()}
            try:
                _read_outputs(outputs, deadline, max_bytes)
                returncode: int | None = process.wait(max(deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                returncode = None
            finally:
                process.kill()
    return ProcessOutput(returncode, bytes(outputs[process.stdout]), bytes(outputs[process.stderr]))


def _read_outputs(outputs: Mapping[IO[bytes], bytearray], deadline: float, max_bytes: int) -> None:
    """Read both outputs to their ends; raises TimeoutExpired when a limit on time or bytes is passed."""
    with selectors.DefaultSelector() as waiting:
        for stream in outputs:
            waiting.register(stream, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select(max(deadline - time.monotonic(), 0.0)):
                data = os.read(key.fd, 1 << 16)
                outputs[key.fileobj].extend(data)  # type: ignore[index]
                if not data:
                    waiting.unregister(key.fileobj)
            if time.monotonic() >= deadline or sum(map(len, outputs.values())) > max_bytes:
                raise subprocess.TimeoutExpired("", 0.0)


def _read_output(process: subprocess.Popen[bytes], deadline: float, max_bytes: int) -> bytes:
    """Return the complete output; raises TimeoutExpired after the deadline, PassedLimitError beyond `max_bytes`."""
    assert process.stdout
    output = bytearray()
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ)
        while waiting.select(max(deadline - time.monotonic(), 0.0)):
            data = os.read(process.stdout.fileno(), 1 << 16)
            if not data:
                return bytes(output)
            output += data
            if len(output) > max_bytes:
                raise PassedLimitError(f"it printed more than the limit of {max_bytes >> 20} MiB")
    raise subprocess.TimeoutExpired(process.args, 0.0)
