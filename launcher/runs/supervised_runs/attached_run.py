"""Runs of servers that Pitwall did not start: watched, never signalled."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from domain import RunState
from launcher.processes.readiness import ReadinessPoll, accepts_connections
from launcher.processes.stopping import StopReport
from launcher.runs.supervised_runs.dependencies import Dependencies
from launcher.runs.supervised_runs.run_loads import LOAD_RUNS, NO_SHIM, RunLoads
from launcher.runs.supervised_runs.run_recorders import is_recorder_open
from launcher.runs.supervised_runs.supervised_run import SupervisedRun
from machine.process_start import same_process

GONE_AFTER_S = 60.0  # of refused connections: a restarted server is the same run, with a gap
WENT_AWAY = "The server went away."


@dataclass
class ServerContact:
    """Contact with a server known only by its URL, which may be down for a while."""

    base_url: str
    deps: Dependencies
    _probe: Future[bool] | None = None
    _refused_since_s: float | None = None

    def is_lost(self) -> bool:
        """Whether it has refused connections for a minute; returns immediately."""
        if self._probe and self._probe.done():
            self._refused_since_s = None if self._probe.result() else self._refused_since_s or self.deps.mono_s()
            self._probe = None
        if self._probe is None:
            # Only a connection: HTTP requests would fill the server's access log.
            self._probe = self.deps.pool.submit(accepts_connections, self.base_url)
        return self._refused_since_s is not None and self.deps.mono_s() - self._refused_since_s >= GONE_AFTER_S


@dataclass
class AttachedRun(SupervisedRun):
    """One attached run: ready when its endpoint says so, finished when its server is gone.

    If the server's process is known, the run ends with it. A server known only by its URL may be down for a while.
    """

    runs_dir: Path
    _poll: ReadinessPoll | None = None
    _contact: ServerContact | None = None
    _stop: Future[StopReport] | None = None  # of the load that was running when watching ended

    def __post_init__(self) -> None:
        self.loads = RunLoads(self.deps, self.runs_dir / self.run.id)

    def step(self) -> None:
        """Check once, and make the due state change."""
        if self.run.state is RunState.STOPPING:
            self._step_stopping()
        elif self._is_gone():
            self.end(WENT_AWAY)
        elif self.run.state is RunState.STARTING:
            self._step_starting()
        elif self.run.run_dir:
            self._step_load()

    def end(self, note: str) -> None:
        """Stop watching, and stop Pitwall's loads and recorder; the server is not touched."""
        if self.run.state is RunState.RUNNING or is_recorder_open(self.loads.directory):
            self._change(note, state=RunState.STOPPING, note=note)
            self._stop = self.deps.pool.submit(self.loads.stop)
        elif self.run.state is not RunState.STOPPING:
            self._finish(note)

    def _step_stopping(self) -> None:
        if self._stop is None:  # an earlier Pitwall ended meanwhile
            self._stop = self.deps.pool.submit(self.loads.stop)
        elif self._stop.done():
            self._finish(self.run.note or WENT_AWAY)

    def _finish(self, note: str) -> None:
        self._change(note, state=RunState.FINISHED, ended_at=self._now(), note=note)

    def _step_load(self) -> None:
        status = self.loads.read_status()
        if status.state in ("starting", "alive"):
            if self.run.state is RunState.READY:
                self._change(LOAD_RUNS, state=RunState.RUNNING)
        elif self.run.state is RunState.RUNNING and status.exit:
            sentence, is_well = self.loads.note_end(self.run, status)
            note = self.run.note if is_well else sentence
            self._change(sentence if is_well is False else "workload done", state=RunState.READY, note=note)
        elif self.run.state is RunState.RUNNING:
            self._change(NO_SHIM, state=RunState.READY, note=NO_SHIM)

    def _is_gone(self) -> bool:
        if self.run.pid is not None:
            return same_process(self.run.pid, self.run.pid_birth_s) is None
        if self._contact is None and self.run.base_url:
            self._contact = ServerContact(self.run.base_url, self.deps)
        return self._contact is not None and self._contact.is_lost()

    def _now(self) -> datetime:
        return self.deps.state_log.clock()

    def _step_starting(self) -> None:
        self._poll = self._poll or ReadinessPoll(self.deps.pool, f"{self.run.base_url}{self.run.ready_path}")
        if self._poll.is_ready():
            self._change("ready", state=RunState.READY, ready_at=self._now(), phase=None)
