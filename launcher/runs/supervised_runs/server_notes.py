"""What is noted of a run's server while it lives: its process, its container, what it starts where its shim is gone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from domain import Run, RunState
from launcher.checks.discover import output_of
from launcher.processes.descendants import LOOK_EVERY_S, DescendantRecord
from launcher.processes.process import ProcessStatus, processes_of
from launcher.processes.runtimes import Backend, ContainerFacts, ProcessBackend, with_container
from launcher.runs.new_run import leftovers_of
from launcher.runs.supervised_runs.dependencies import Dependencies
from launcher.runs.supervised_runs.looks import NO_OWN_LOG, Look

LookAtContainer = Callable[[], ContainerFacts | None]


class Noted(NamedTuple):
    """A change of a run's record, and what is said of it."""

    text: str
    fields: Mapping[str, Any]


@dataclass
class ServerNotes:
    """What was noted of one run's server."""

    deps: Dependencies
    directory: Path
    _look: Future[ContainerFacts | None] | None = None
    _record: DescendantRecord | None = None
    _record_due_s: float = 0.0  # monotonic
    _is_log_known: bool = False  # of a server that a script has left behind
    _own: Look[Path | None] = field(init=False)
    _passed: set[str] = field(default_factory=set)  # what was said of limits

    def __post_init__(self) -> None:
        self._own = Look(self.deps, NO_OWN_LOG)

    def process(self, run: Run, backend: Backend, status: ProcessStatus) -> Noted | None:
        """Its process, where it is not the one that was noted; or its log, where it has turned to another."""
        has_moved = run.pid != status.pid and isinstance(backend, ProcessBackend)
        if status.pid is None:
            return None
        if run.pid is not None and not has_moved:
            return self._own_log(run, status.pid)
        fields: dict[str, Any] = {
            "pid": status.pid,
            "pid_birth_s": status.pid_birth_s,
            "pid_started_at": status.pid_started_at,
            "started_at": status.started_at or run.started_at,
        }
        self._is_log_known, self._own = False, Look(self.deps, NO_OWN_LOG)
        log = self._own_log(run, status.pid)
        return Noted(f"server process {status.pid}", {**fields, **(log.fields if log else {})})

    def _own_log(self, run: Run, pid: int) -> Noted | None:
        """A script may send the output of the server that it leaves to a file of its own.

        At first that server is a shell, which opens the file and then becomes it: so it is looked at until ready.
        """
        if self._is_log_known or leftovers_of(run.config) != "follow":
            return None
        log = self._own.take(run, lambda: output_of(pid))
        self._is_log_known = not self._own.is_under_way and run.state in (RunState.READY, RunState.RUNNING)
        if log is None or str(log) == run.log_path:
            return None
        return Noted(f"its log is {log}", {"log_path": str(log)})

    def stand_in_for_shim(self, run: Run) -> None:
        """Its supervisor was killed: keep the record of what the server starts, once a second."""
        if self._record is None:
            self._record = DescendantRecord(self.directory)
            text = "The server's supervisor was killed: the server is still ours, its exit code will be unknown."
            self.deps.recorder.note(run.id, "warning", text)
        if self.deps.mono_s() >= self._record_due_s:
            self._record_due_s = self.deps.mono_s() + LOOK_EVERY_S
            self._record.keep(processes_of(self.directory))

    def passed(self, run_id: str, words: str) -> None:
        """Say once that what was asked of this run's runtime passed a limit; from any thread."""
        if words not in self._passed:
            self._passed.add(words)
            self.deps.recorder.note(run_id, "warning", words)

    def container(
        self, run: Run, look: LookAtContainer, in_pool: Callable[[LookAtContainer], Future[ContainerFacts | None]]
    ) -> Noted | None:
        """Once it is ready: which image it runs, and its own process in place of the client's."""
        if self._look is None:
            self._look = in_pool(look)
        facts = self._look.result() if self._look.done() else None
        if not facts or "container" in (run.provenance or {}):
            return None
        server = facts.process if facts.pid else {}
        words = f"container {facts.name}, image {facts.image_digest or facts.image_id}"
        return Noted(words, {**server, **with_container(run, facts)})
