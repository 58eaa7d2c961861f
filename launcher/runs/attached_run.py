"""Runs of servers that we did not start: watched, never signalled."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from domain import Run, RunState
from launcher.checks.readiness import ReadinessPoll, accepts_connections
from launcher.runs.dependencies import Dependencies
from launcher.runs.recorder import RunRecorder
from machine.process_start import same_process

GONE_AFTER_S = 60.0  # of refused connections: a server that is restarted is the same run, with a gap
WENT_AWAY = "The server went away."


@dataclass
class Contact:
    """Whether a server is there, known by its URL alone: it may be away for a while."""

    base_url: str
    deps: Dependencies
    _asked: Future[bool] | None = None
    _refused_since_s: float | None = None

    def is_lost(self) -> bool:
        """Whether it has refused connections for a minute; returns at once."""
        if self._asked and self._asked.done():
            self._refused_since_s = None if self._asked.result() else self._refused_since_s or self.deps.mono_s()
            self._asked = None
        if self._asked is None:
            # A bare connection: an HTTP request each time would fill the server's access log.
            self._asked = self.deps.pool.submit(accepts_connections, self.base_url)
        return self._refused_since_s is not None and self.deps.mono_s() - self._refused_since_s >= GONE_AFTER_S


@dataclass
class Watch:
    """One attached run: ready when its endpoint says so, finished when its server is gone.

    Of a server whose process is known, that process is the run. One known by its URL alone may be away for a while.
    """

    run: Run
    deps: Dependencies
    _poll: ReadinessPoll | None = None
    _contact: Contact | None = None

    def step(self) -> None:
        """Look once, and do what is due."""
        if self._is_gone():
            self.end(WENT_AWAY)
        elif self.run.state is RunState.STARTING:
            self._step_starting()

    def end(self, note: str) -> None:
        """Stop watching; the server, if it lives, is left alone."""
        self._change(note, state=RunState.FINISHED, ended_at=self._now(), note=note)

    def _change(self, text: str, **updates: Any) -> None:
        recorder: RunRecorder = self.deps.recorder
        self.run = recorder.save(self.run.model_copy(update=updates), text)

    def _is_gone(self) -> bool:
        if self.run.pid is not None:
            return same_process(self.run.pid, self.run.pid_birth_s) is None
        if self._contact is None and self.run.base_url:
            self._contact = Contact(self.run.base_url, self.deps)
        return self._contact is not None and self._contact.is_lost()

    def _now(self) -> datetime:
        return self.deps.recorder.clock()

    def _step_starting(self) -> None:
        self._poll = self._poll or ReadinessPoll(self.deps.pool, f"{self.run.base_url}{self.run.ready_path}")
        if self._poll.is_ready():
            self._change("ready", state=RunState.READY, ready_at=self._now(), phase=None)
