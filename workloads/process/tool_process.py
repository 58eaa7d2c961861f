"""The process of another benchmark tool: run, its words passed on, its progress read from them, ended when asked."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

KEPT_CHARS = 2_000  # of what it said last: its progress is in there
READ_BYTES = 65_536
GRACE_S = 10.0
COVERED = b"<secret>"


@dataclass
class Cover:
    """Covers a secret in a stream of pieces, however it is cut between them; what may be its beginning waits."""

    secret: bytes
    rest: bytes = b""

    def pass_on(self, data: bytes) -> bytes:
        """What can be shown by now."""
        if not self.secret:
            return data
        known = (self.rest + data).replace(self.secret, COVERED)
        held = next((n for n in range(len(self.secret) - 1, 0, -1) if known.endswith(self.secret[:n])), 0)
        self.rest = known[len(known) - held :]
        return known[: len(known) - held]


@dataclass
class ToolProcess:
    """Runs the tool's commands; `said` is given the end of what the tool has said whenever it says more."""

    folder: Path
    environ: Mapping[str, str]
    said: Callable[[str], None]
    is_cancelled: bool = False
    secret: str = ""  # that it may say, and that must not be in its log

    async def run(self, commands: Sequence[Sequence[str]]) -> int:
        """One after the other until one fails; the exit status of the last one. Raises OSError."""
        status = 0
        for argv in commands:
            status = await self._run_one(argv)
            if status or self.is_cancelled:
                break
        return status

    async def _run_one(self, argv: Sequence[str]) -> int:
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=self.folder, env=dict(self.environ), stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._cancel, process.pid)
        try:
            await self._pass_on(process)
            return await process.wait()
        finally:
            loop.remove_signal_handler(signal.SIGTERM)

    async def _pass_on(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout
        said, cover = "", Cover(self.secret.encode())
        while data := await process.stdout.read(READ_BYTES):
            data = cover.pass_on(data)
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            said = (said + data.decode(errors="replace"))[-KEPT_CHARS:]
            self.said(said)
        sys.stdout.buffer.write(cover.rest)
        sys.stdout.buffer.flush()

    def _cancel(self, pid: int) -> None:
        """A tool may go on for a minute after SIGTERM, until its open requests have ended: it is given less."""
        self.is_cancelled = True
        loop = asyncio.get_running_loop()
        with suppress(psutil.NoSuchProcess):
            tool = psutil.Process(pid)
            them = [*tool.children(recursive=True), tool]
            _signal(them, signal.SIGTERM)
            loop.call_later(GRACE_S, _signal, them, signal.SIGKILL)


def _signal(processes: Sequence[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)
