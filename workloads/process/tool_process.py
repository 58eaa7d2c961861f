"""Runs the process of an external benchmark tool: forwards its output, reads its progress, ends it on SIGTERM."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

TAIL_CHARS = 2_000  # of its latest output, which contains its progress
READ_BYTES = 65_536
GRACE_S = 10.0
MASK = b"<secret>"


@dataclass
class SecretMask:
    """Masks a secret in a stream of pieces, even if split between them; a possible beginning of it is held back."""

    secret: bytes
    pending: bytes = b""

    def mask(self, data: bytes) -> bytes:
        """Return what can be shown so far."""
        if not self.secret:
            return data
        masked = (self.pending + data).replace(self.secret, MASK)
        partial_length = next((n for n in range(len(self.secret) - 1, 0, -1) if masked.endswith(self.secret[:n])), 0)
        self.pending = masked[len(masked) - partial_length :]
        return masked[: len(masked) - partial_length]


@dataclass
class ToolProcess:
    """Runs the tool's commands; `on_output` receives the tail of the output whenever there is more."""

    folder: Path
    environ: Mapping[str, str]
    on_output: Callable[[str], None]
    is_cancelled: bool = False
    secret: str = ""  # that the tool may print, and that must not be in its log

    async def run(self, commands: Sequence[Sequence[str]]) -> int:
        """Run the commands until one fails; returns the exit status of the last one. Raises OSError."""
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
            await self._forward_output(process)
            return await process.wait()
        finally:
            loop.remove_signal_handler(signal.SIGTERM)

    async def _forward_output(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout
        tail, secret_mask = "", SecretMask(self.secret.encode())
        while data := await process.stdout.read(READ_BYTES):
            data = secret_mask.mask(data)
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            tail = (tail + data.decode(errors="replace"))[-TAIL_CHARS:]
            self.on_output(tail)
        sys.stdout.buffer.write(secret_mask.pending)
        sys.stdout.buffer.flush()

    def _cancel(self, pid: int) -> None:
        """End the tool, and kill it after GRACE_S: some wait a minute after SIGTERM for their open requests."""
        self.is_cancelled = True
        loop = asyncio.get_running_loop()
        with suppress(psutil.NoSuchProcess):
            tool = psutil.Process(pid)
            processes = [*tool.children(recursive=True), tool]
            _signal(processes, signal.SIGTERM)
            loop.call_later(GRACE_S, _signal, processes, signal.SIGKILL)


def _signal(processes: Sequence[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)
