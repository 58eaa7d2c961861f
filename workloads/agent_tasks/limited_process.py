"""Runs one command of a task to its end, its time limit or a cancellation, and keeps the first part of its output."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from machine.private_files import FILE_MODE
from workloads.process.tool_process import READ_BYTES, SecretMask

DRAIN_S = 5.0  # for output that still arrives once every process has ended
CUT = b"\n[the rest of the output was not kept]\n"
EndDescendants = Callable[[], int]  # ends everything that this process started; returns how many had to be signalled


class CommandEnd(NamedTuple):
    """End of a command. `exit_code`: negative for a signal, None if it was ended or never started."""

    exit_code: int | None
    seconds: float
    is_late: bool = False
    is_cancelled: bool = False
    start_error: str | None = None
    ended_processes: int = 0  # that outlived it, or had to be ended at a limit


@dataclass
class BoundedLog:
    """A file with the first bytes of an output, without secrets."""

    path: Path
    left_bytes: int
    secrets: Sequence[str]
    masks: list[SecretMask] = field(init=False)

    def __post_init__(self) -> None:
        self.masks = [SecretMask(secret.encode()) for secret in self.secrets]
        self.path.touch(FILE_MODE)

    def take(self, data: bytes) -> None:
        """Append output, as far as the limit allows."""
        for mask in self.masks:
            data = mask.mask(data)
        self._write(data)

    def end(self) -> None:
        """Write what the masks held back: it turned out to be no secret."""
        data = b""
        for mask in self.masks:
            data = mask.mask(data) + mask.pending
            mask.pending = b""
        self._write(data)

    def _write(self, data: bytes) -> None:
        if not data or self.left_bytes <= 0:
            return
        head = data[: self.left_bytes]
        self.left_bytes -= len(data)
        with self.path.open("ab") as file, suppress(OSError):  # a full disk does not end the task
            file.write(head + (CUT if self.left_bytes < 0 else b""))


@dataclass(frozen=True)
class CommandRunner:
    """Runs commands one at a time; `cancelled` ends the running one."""

    end_descendants: EndDescendants
    cancelled: asyncio.Event

    async def run(
        self, argv: Sequence[str], cwd: Path, environ: Mapping[str, str], limit_s: float, log: BoundedLog
    ) -> CommandEnd:
        """Run a command in a session of its own, then end all that it started."""
        clock = asyncio.get_running_loop().time
        began_s = clock()
        reading, writing = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, cwd=cwd, env=dict(environ), stdin=asyncio.subprocess.DEVNULL, stdout=writing, stderr=writing,
                start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            os.close(reading)
            text = error.strerror if isinstance(error, OSError) else str(error)
            return CommandEnd(None, clock() - began_s, start_error=f"{argv[0]}: {text}")
        finally:
            os.close(writing)
        output = asyncio.create_task(_copy_output(reading, log))
        exit_code = await self._wait(process, limit_s)
        seconds = clock() - began_s
        ended = await asyncio.to_thread(self.end_descendants)
        with suppress(TimeoutError):
            await asyncio.wait_for(output, DRAIN_S)
        await process.wait()
        _reap_orphans()
        is_cancelled = self.cancelled.is_set() and exit_code is None
        return CommandEnd(exit_code, seconds, exit_code is None and not is_cancelled, is_cancelled, None, ended)

    async def _wait(self, process: asyncio.subprocess.Process, limit_s: float) -> int | None:
        """Return the exit code; None once the limit has passed or the load was cancelled."""
        ended, stopped = asyncio.create_task(process.wait()), asyncio.create_task(self.cancelled.wait())
        try:
            await asyncio.wait({ended, stopped}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            return ended.result() if ended.done() else None
        finally:
            stopped.cancel()
            if not ended.done():
                ended.cancel()


def _reap_orphans() -> None:
    """Reap ended orphans that were reparented to this process; no command of it runs now."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


async def _copy_output(descriptor: int, log: BoundedLog) -> None:
    """Read the output to its end, which comes when the last process that holds it has ended."""
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    with os.fdopen(descriptor, "rb") as file:
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
        try:
            while data := await reader.read(READ_BYTES):
                log.take(data)
        finally:
            transport.close()
            log.end()
