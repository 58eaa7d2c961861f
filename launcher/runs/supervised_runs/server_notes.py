"""Facts recorded about a run's server while it lives: its process, its container, and descendants without a shim."""

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
from launcher.processes.runtimes import Backend, ContainerFacts, ProcessBackend, leftovers_of, with_container
from launcher.runs.supervised_runs.dependencies import Dependencies
from launcher.runs.supervised_runs.slow_reads import NO_OWN_LOG, SlowRead

InspectContainer = Callable[[], ContainerFacts | None]


class RecordChange(NamedTuple):
    """Change of a run's record, with the text of its event."""

    text: str
    fields: Mapping[str, Any]


@dataclass
class ServerNotes:
    """Observes one run's server and reports changes."""

    deps: Dependencies
    directory: Path
    _inspection: Future[ContainerFacts | None] | None = None
    _record: DescendantRecord | None = None
    _record_due_s: float = 0.0  # monotonic
    _is_log_known: bool = False  # of a server that a script left running
    _output_read: SlowRead[Path | None] = field(init=False)
    _reported_limits: set[str] = field(default_factory=set)  # sentences about exceeded limits

    def __post_init__(self) -> None:
        self._output_read = SlowRead(self.deps, NO_OWN_LOG)

    def note_process(self, run: Run, backend: Backend, status: ProcessStatus) -> RecordChange | None:
        """Return the change if the server has a new process, or writes to another log; else None."""
        has_moved = run.pid != status.pid and isinstance(backend, ProcessBackend)
        if status.pid is None:
            return None
        if run.pid is not None and not has_moved:
            return self._note_log(run, status.pid)
        fields: dict[str, Any] = {
            "pid": status.pid,
            "pid_birth_s": status.pid_birth_s,
            "pid_started_at": status.pid_started_at,
            "started_at": status.started_at or run.started_at,
        }
        self._is_log_known, self._output_read = False, SlowRead(self.deps, NO_OWN_LOG)
        log = self._note_log(run, status.pid)
        return RecordChange(f"server process {status.pid}", {**fields, **(log.fields if log else {})})

    def _note_log(self, run: Run, pid: int) -> RecordChange | None:
        """Return the change of the log, if a script sends its server's output to another file.

        The server starts as a shell that opens the file and then executes the server, so this is checked until ready.
        """
        if self._is_log_known or leftovers_of(run.config) != "follow":
            return None
        log = self._output_read.poll(run, lambda: output_of(pid))
        self._is_log_known = not self._output_read.is_under_way and run.state in (RunState.READY, RunState.RUNNING)
        if log is None or str(log) == run.log_path:
            return None
        return RecordChange(f"its log is {log}", {"log_path": str(log)})

    def record_descendants(self, run: Run) -> None:
        """Record the server's descendants once per second in place of its killed shim."""
        if self._record is None:
            self._record = DescendantRecord(self.directory)
            text = "The server's shim was killed: Pitwall still manages the server, but its exit code will be unknown."
            self.deps.state_log.note(run.id, "warning", text)
        if self.deps.mono_s() >= self._record_due_s:
            self._record_due_s = self.deps.mono_s() + LOOK_EVERY_S
            self._record.keep(processes_of(self.directory))

    def report_limit(self, run_id: str, sentence: str) -> None:
        """Record each sentence about an exceeded limit once; callable from any thread."""
        if sentence not in self._reported_limits:
            self._reported_limits.add(sentence)
            self.deps.state_log.note(run_id, "warning", sentence)

    def note_container(
        self, run: Run, inspect: InspectContainer, in_pool: Callable[[InspectContainer], Future[ContainerFacts | None]]
    ) -> RecordChange | None:
        """Return the change once a container's image and its own process, instead of the client's, are known."""
        if self._inspection is None:
            self._inspection = in_pool(inspect)
        facts = self._inspection.result() if self._inspection.done() else None
        if not facts or "container" in (run.provenance or {}):
            return None
        server = facts.process if facts.pid else {}
        text = f"container {facts.name}, image {facts.image_digest or facts.image_id}"
        return RecordChange(text, {**server, **with_container(run, facts)})
