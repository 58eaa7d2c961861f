"""Runs a user's SQL statement in a sandboxed process of its own, a limited number at once, killed at its time limit."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from settings import Settings
from storage.sandbox.job import Answer, Fault, Job, Limits, SqlRefusedError, decode_answer, memory_spent

ROOT = Path(__file__).resolve().parents[2]
START_S = 10.0  # for Python to come up, on a machine whose cores are busy serving


class Ended(Protocol):
    """How a process ended; `returncode` None: it was killed because its time was up."""

    @property
    def returncode(self) -> int | None: ...
    @property
    def stdout(self) -> bytes: ...
    @property
    def stderr(self) -> bytes: ...


class RunProcess(Protocol):
    """Runs a process to its end or to the end of its time (machine.run_with_timeout.run_bounded)."""

    def __call__(
        self, argv: Sequence[str], cwd: Path, environ: Mapping[str, str], stdin: bytes, timeout_s: float
    ) -> Ended: ...


HELD_UP = "This machine is busy, and a query gives way to all other work: it may have had little of that time."


class Sandbox:
    """`ask` may be called from any thread."""

    module = "storage.sandbox"

    def __init__(self, settings: Settings, run: RunProcess, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.settings = settings
        self._run = run
        self._turns = threading.BoundedSemaphore(self.limits.at_once)

    def ask(self, sql: str) -> Answer:
        """The rows of one SELECT; raises SqlRefusedError with one sentence."""
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

    def _answer(self, sql: str) -> Answer:
        job = self.job(sql)
        # No environment: what is not there cannot be read.
        ended = self._run([sys.executable, "-m", self.module], ROOT, {}, job.encode(), self.limits.seconds + START_S)
        if ended.returncode == 0:
            return decode_answer(ended.stdout)
        raise _why(ended, self.limits)

    def job(self, sql: str) -> Job:
        """What the sandboxed process is given: a statement over the published file."""
        published, parquet_dir = self.settings.published_path.absolute(), self.settings.parquet_dir.absolute()
        return Job(sql, str(published), str(parquet_dir), self.limits)


def _why(ended: Ended, limits: Limits) -> SqlRefusedError:
    """What a process died of that gave no answer; raises RuntimeError when it was a bug of ours."""
    if ended.returncode in (None, -signal.SIGALRM, -signal.SIGXCPU):
        words = f"The query was ended after {limits.seconds:g} s, the most one may take."
        is_held_up = ended.returncode != -signal.SIGXCPU and os.getloadavg()[0] > (os.cpu_count() or 1)
        return SqlRefusedError(Fault.LIMIT, words + (f" {HELD_UP}" if is_held_up else ""))
    if ended.returncode in (-signal.SIGKILL, -signal.SIGABRT, -signal.SIGSEGV):
        return SqlRefusedError(Fault.LIMIT, memory_spent(limits))
    raise RuntimeError(f"The sandboxed query ended with {ended.returncode}: {ended.stderr.decode(errors='replace')}")
