"""Runs each user SQL statement in a separate sandboxed process, with limits on concurrency and time."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from settings import Settings
from storage.sandbox.job import (
    Fault,
    SandboxJob,
    SandboxLimits,
    SqlAnswer,
    SqlRefusedError,
    decode_answer,
    memory_spent,
)

ROOT = Path(__file__).resolve().parents[2]
START_S = 10.0  # for Python to start on a busy machine


class SandboxExit(Protocol):
    """The result of a process; `returncode` None: killed at the timeout."""

    @property
    def returncode(self) -> int | None: ...
    @property
    def stdout(self) -> bytes: ...
    @property
    def stderr(self) -> bytes: ...


class RunProcess(Protocol):
    """Runs a process until its end or timeout (machine.run_with_timeout.run_bounded)."""

    def __call__(
        self, argv: Sequence[str], cwd: Path, environ: Mapping[str, str], stdin: bytes, timeout_s: float
    ) -> SandboxExit: ...


BUSY_NOTE = "This machine is busy, and queries yield to all other work, so it may have had little CPU time."


class Sandbox:
    """Runs statements on the published file; thread-safe."""

    module = "storage.sandbox"

    def __init__(self, settings: Settings, run: RunProcess, limits: SandboxLimits | None = None) -> None:
        self.limits = limits or SandboxLimits()
        self.settings = settings
        self._run = run
        self._turns = threading.BoundedSemaphore(self.limits.at_once)

    def ask(self, sql: str) -> SqlAnswer:
        """Return the rows of one SELECT; raises SqlRefusedError with one sentence."""
        if not self.settings.published_path.exists():
            raise SqlRefusedError(Fault.UNAVAILABLE, "Nothing has been published yet: try again in a few seconds.")
        if not self._turns.acquire(timeout=self.limits.wait_s):
            raise SqlRefusedError(
                Fault.BUSY, f"{self.limits.at_once} other queries are being answered: try again when they are done."
            )
        try:
            return self._answer(sql)
        finally:
            self._turns.release()

    def _answer(self, sql: str) -> SqlAnswer:
        job = self.job(sql)
        # An empty environment, so that nothing in it can be read.
        result = self._run([sys.executable, "-m", self.module], ROOT, {}, job.encode(), self.limits.seconds + START_S)
        if result.returncode == 0:
            return decode_answer(result.stdout)
        raise _failure(result, self.limits)

    def job(self, sql: str) -> SandboxJob:
        """The job of the sandboxed process: a statement on the published file."""
        published, parquet_dir = self.settings.published_path.absolute(), self.settings.parquet_dir.absolute()
        return SandboxJob(sql, str(published), str(parquet_dir), self.limits)


def _failure(result: SandboxExit, limits: SandboxLimits) -> SqlRefusedError:
    """The reason of a process without an answer; raises RuntimeError for an internal error."""
    if result.returncode in (None, -signal.SIGALRM, -signal.SIGXCPU):
        text = f"The query was stopped at its time limit of {limits.seconds:g} s."
        is_machine_busy = result.returncode != -signal.SIGXCPU and os.getloadavg()[0] > (os.cpu_count() or 1)
        return SqlRefusedError(Fault.LIMIT, text + (f" {BUSY_NOTE}" if is_machine_busy else ""))
    if result.returncode in (-signal.SIGKILL, -signal.SIGABRT, -signal.SIGSEGV):
        return SqlRefusedError(Fault.LIMIT, memory_spent(limits))
    raise RuntimeError(f"The sandboxed query ended with {result.returncode}: {result.stderr.decode(errors='replace')}")
