"""The state machine of one launched run; only the supervisor advances it, under its lock.

queued -> starting -> ready -> running (under its workload) -> stopping -> finished | failed
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from commands.secrets import hide_secrets, missing_secrets, telling, told, unfilled_places
from domain import WATCH, Run, RunState, WorkloadSpec
from errors import PitwallError
from launcher.checks.discover import output_of
from launcher.checks.preflight import LaunchRefusedError, port_of
from launcher.checks.readiness import ReadinessPoll
from launcher.processes.descendants import LOOK_EVERY_S, DescendantRecord
from launcher.processes.exit_messages import log_tail
from launcher.processes.process import (
    ProcessExit,
    ProcessStatus,
    look_at,
    processes_of,
    read_spec,
    start_shim,
)
from launcher.processes.runtimes import Backend, ContainerFacts, ProcessBackend, backend_of, with_container
from launcher.processes.startup_progress import Start, by_the_clock_of, is_pulling, read_bar
from launcher.runs.attached_run import WENT_AWAY, Contact
from launcher.runs.dependencies import Dependencies
from launcher.runs.new_run import leftovers_of
from launcher.runs.provenance import freeze
from launcher.runs.run_loads import LOAD_RUNS, NO_SHIM, RunLoads, check_can_load, told_of
from launcher.runs.teardown import (
    BROKE_OFF,
    NOTHING_STOPPED,
    Stopped,
    how_it_ended,
    is_left_alone,
    leave_alone,
    server_words,
    stop_everything,
)
from machine.ports import describe_busy_port, is_port_free
from redaction import KNOWN

DETACHED = "its script has ended, the server is awaited"
LEFT_ALONE = "Its script ended and left the server to itself: Pitwall watches it and does not stop it."
NOT_STORED = "It was not started: the store takes nothing now, and what runs must be known to it."
NO_SECRET = "It was not started: the value of {} is a secret that was not given: launch again, and give it."
T = TypeVar("T")


@dataclass
class LaunchedRun:
    """One launched run and what is under way for it."""

    run: Run
    deps: Dependencies
    secrets: Mapping[str, str] = field(default_factory=dict)
    was_adopted: bool = False  # from an earlier Pitwall
    _shim: subprocess.Popen[bytes] | None = None  # the server's
    _start: Start | None = None
    _begun_s: float | None = None  # monotonic, None when an earlier Pitwall began it
    _stop: Future[Stopped | None] | None = None
    _frozen: Future[dict[str, Any] | None] | None = None
    _look: Future[ContainerFacts | None] | None = None
    _contact: Contact | None = None
    _record: DescendantRecord | None = None
    _record_due_s: float = 0.0  # monotonic

    def __post_init__(self) -> None:
        self.loads = RunLoads(self.deps, self.directory)
        KNOWN.add(telling(self.secrets.values()))

    @property
    def backend(self) -> Backend:
        return backend_of(self.run.config, self.run.id, is_here=self.run.on_host is None)

    @property
    def directory(self) -> Path:
        assert self.run.run_dir
        return Path(self.run.run_dir)

    def begin(self) -> None:
        """Start the server; what has become impossible since it was queued makes a failed run."""
        run = self.run
        assert run.base_url
        self.run = run.model_copy(update={"state": RunState.STARTING, "started_at": self.deps.recorder.clock()})
        try:
            self.deps.recorder.save_durably(self.run)  # or nobody would know of the server after a crash
        except TimeoutError:
            return self._conclude(NOT_STORED)
        self.deps.recorder.tell(run.id, "state", "starting", state=self.run.state.value)
        self._begun_s = self.deps.mono_s()
        was_adopted, self.was_adopted = self.was_adopted, False
        missing = missing_secrets(run.config, os.environ)
        if was_adopted and missing:
            return self._conclude(f"The secret {told(missing)} was not kept over Pitwall's restart: launch again.")
        if obstacle := self._port_obstacle():
            return self._conclude(obstacle)
        # After a restart only what Pitwall's own environment holds is left of the secrets.
        inherited = hide_secrets(run.config.argv, run.config.env, {}, os.environ).secrets
        self.secrets = {**inherited, **self.secrets}
        KNOWN.add(telling(self.secrets.values()))
        self._frozen = self._freeze()
        return self._start_server()

    def _port_obstacle(self) -> str | None:
        assert self.run.base_url
        port = port_of(self.run.base_url)
        return None if is_port_free(port, self.run.config.host) else describe_busy_port(port)

    def _freeze(self) -> Future[dict[str, Any] | None] | None:
        run = self.run
        return self._in_pool(lambda: freeze(run, self.deps.gpus()))

    def _spec(self) -> Mapping[str, Any]:
        """The command and the environment as they were laid down, secrets in their hiding places."""
        return read_spec(self.directory)

    def _status(self) -> ProcessStatus:
        """How the server is."""
        return look_at(self.directory)

    def _stop_everything(self) -> Future[Stopped | None]:
        return self._in_pool(lambda: stop_everything(self.run, self.deps.stop_grace_s, self.deps.gpus))

    def _start_server(self) -> None:
        """The last moment to see that every secret is in its place."""
        try:
            if unfilled := unfilled_places(self._spec(), self.secrets):
                return self._conclude(NO_SECRET.format(told(unfilled)))
            self._shim = start_shim(self.directory, self.secrets)
        except OSError as error:
            self._conclude(f"The server could not be started: {error.strerror} ({error.filename}).")
        return None

    def step(self) -> None:
        """Look once, and do what is due."""
        if self._shim:
            self._shim.poll()
        self._note_provenance()
        if self.run.state is RunState.STOPPING:
            return self._step_stopping()
        status = self._status()
        if status.state == "absent":
            return self._start_again()
        if status.exit and self._has_detached(status.exit):
            return self._step_detached()
        if status.exit:
            return self._server_ended(status.exit, status.started_at is not None)
        if status.state == "alive":
            self._note_process(status)
        if self.run.state is RunState.STARTING:
            return self._step_starting()
        self._note_container()
        return self._step_workload()

    def end(self, cause: str | None = None, note: str | None = None, cause_line: str | None = None) -> None:
        """Begin to stop everything that the run started; with a cause it is a failure."""
        if self.run.state is RunState.STOPPING or self.run.state.is_final:
            return
        update = {"cause": cause, "cause_line": cause_line, "note": note or self.run.note}
        self._change(cause or note or "stopping", state=RunState.STOPPING, **update)

    def _fail(self, words: str) -> None:
        """End for a fault of the server's own; its log may say more than its exit does, if only by its last line."""
        last_line = next(filter(str.strip, reversed(self._log_tail())), None)
        cause, line = self._attempt(lambda: self.deps.explain_failure(self.run)) or (words, last_line)
        self.end(cause, cause_line=line)

    def _log_tail(self) -> list[str]:
        return log_tail(Path(self.run.log_path), self.secrets.values()) if self.run.log_path else []

    def _change(self, text: str, **updates: Any) -> None:
        self.run = self.deps.recorder.save(self.run.model_copy(update=updates), text)

    def _in_pool(self, call: Callable[[], T | None]) -> Future[T | None]:
        return self.deps.pool.submit(lambda: self._attempt(call))

    def _attempt(self, call: Callable[[], T | None]) -> T | None:
        """What it returns; None where it raised, which is told."""
        try:
            return call()
        except Exception as error:
            self.deps.recorder.tell_fault(self.run.id, error)
            return None

    def _note_process(self, status: ProcessStatus) -> None:
        has_moved = self.run.pid != status.pid and isinstance(self.backend, ProcessBackend)
        if status.pid is not None and (self.run.pid is None or has_moved):
            update: dict[str, Any] = {
                "pid": status.pid,
                "pid_birth_s": status.pid_birth_s,
                "pid_started_at": status.pid_started_at,
            }
            # A script may send the output of the server that it leaves to a file of its own.
            log = output_of(status.pid) if leftovers_of(self.run.config) == "follow" else None
            update |= {"log_path": str(log)} if log else {}
            self._change(f"server process {status.pid}", started_at=status.started_at or self.run.started_at, **update)
        if not status.is_supervised:
            self._stand_in_for_shim()

    def _stand_in_for_shim(self) -> None:
        """Its supervisor was killed: keep the record of what the server starts, once a second."""
        if self._record is None:
            self._record = DescendantRecord(self.directory)
            text = "The server's supervisor was killed: the server is still ours, its exit code will be unknown."
            self.deps.recorder.tell(self.run.id, "warning", text)
        if self.deps.mono_s() >= self._record_due_s:
            self._record_due_s = self.deps.mono_s() + LOOK_EVERY_S
            self._record.keep(processes_of(self.directory))

    def _note_provenance(self) -> None:
        if self._frozen and self._frozen.done():
            frozen, self._frozen = self._frozen.result(), None
            if frozen:
                self._change("what it runs on is noted", provenance={**frozen, **(self.run.provenance or {})})

    def _note_container(self) -> None:
        """Once it is ready: which image it runs, and its own process in place of the client's."""
        if self._look is None:
            self._look = self._in_pool(self.backend.look)
        facts = self._look.result() if self._look.done() else None
        if facts and "container" not in (self.run.provenance or {}):
            server = facts.process if facts.pid else {}
            words = f"container {facts.name}, image {facts.image_digest or facts.image_id}"
            self._change(words, **server, **with_container(self.run, facts))

    def _start_again(self) -> None:
        """Pitwall was ended between its word that the server starts and the start."""
        if self._shim:
            return self.end(NO_SHIM)
        if self.run.state is RunState.STARTING and (self.directory / "spec.json").exists():
            return self.begin()
        return self.end("Its run directory is gone, and with it what became of the server.")

    # --- starting ---------------------------------------------------------------------------------------------------
    def _step_starting(self) -> None:
        self._note_phase()
        if self._start is None:
            poll = ReadinessPoll(self.deps.pool, f"{self.run.base_url}{self.run.ready_path}")
            self._start = Start(poll, self.run.ready_timeout_s)
        if self._start.poll.is_ready():
            self._became_ready()
        elif words := self._start.give_up(self.run.phase, self.deps.mono_s()):
            self._fail(words)

    def _note_phase(self) -> None:
        """What the log says before the engine has a word, and in lines that have no end yet."""
        if self.run.log_path:
            log = Path(self.run.log_path)
            phase = self.backend.phase(log) or read_bar(log, self.run.config.engine)
            if phase != self.run.phase and (phase or is_pulling(self.run.phase)):
                self._change(phase or "the image is here", phase=phase)

    def _became_ready(self) -> None:
        note = self.run.note
        if self.was_adopted:
            note = "It may have been ready earlier: Pitwall was restarted while it started."
        ready_at, started_at = self.deps.recorder.clock(), self.run.started_at
        if started_at and self._begun_s is not None:
            started_at = by_the_clock_of(ready_at, started_at, self.deps.mono_s() - self._begun_s)
        self._change("ready", state=RunState.READY, started_at=started_at, ready_at=ready_at, phase=None, note=note)

    # --- a script that has left its server to itself ----------------------------------------------------------------
    def _has_detached(self, end: ProcessExit) -> bool:
        """Whether a script ended well before its server was ready, and nothing of it is left here to follow.

        Its server runs in a container, or elsewhere.
        """
        is_new = self.run.state is RunState.STARTING and end.exit_code == 0 and not is_left_alone(self.directory)
        if is_new and leftovers_of(self.run.config) == "follow":
            leave_alone(self.directory)
            self._change(DETACHED, phase=DETACHED, note=LEFT_ALONE)
        return is_left_alone(self.directory)

    def _step_detached(self) -> None:
        assert self.run.base_url
        if self.run.state is RunState.STARTING:
            return self._step_starting()
        self._contact = self._contact or Contact(self.run.base_url, self.deps)
        return self.end(note=WENT_AWAY) if self._contact.is_lost() else self._step_workload()

    # --- ready and running ------------------------------------------------------------------------------------------
    def _step_workload(self) -> None:
        status = self.loads.look()
        if status.state == "absent":
            return self._begin_workload()
        if status.state == "ended":
            is_due = self.run.state is RunState.RUNNING or (self._is_launched_with and self.run.stop_when_done)
            return self._workload_ended(status) if is_due else None
        if self.run.state is RunState.READY:
            self._change(LOAD_RUNS, state=RunState.RUNNING)
        return None

    @property
    def has_workload(self) -> bool:
        return self.run.workload is not None and self.run.workload.name != WATCH.name

    @property
    def _is_launched_with(self) -> bool:
        """Whether the newest load is the one that the run was launched with."""
        return self.has_workload and self.loads.is_first

    def _begin_workload(self) -> None:
        """The load that the run was launched with, or what is to be said of one that left no trace."""
        if not self.loads.could_not_start():
            return self._start_workload() if self._is_launched_with else None
        if self._is_launched_with:
            return self.end(NO_SHIM)
        return self._change(NO_SHIM, state=RunState.READY) if self.run.state is RunState.RUNNING else None

    def _start_workload(self) -> None:
        assert self.run.workload
        try:
            self.loads.begin(self.run, self.run.workload, self.secrets)
        except (OSError, PitwallError) as error:
            return self.end(f"The workload could not be started: {told_of(error)}")
        return self._change(LOAD_RUNS, state=RunState.RUNNING)

    def start_load(self, spec: WorkloadSpec, secrets: Mapping[str, str]) -> None:
        """Put a further load on the server; raises LaunchRefusedError."""
        check_can_load(self.run)
        try:
            self.loads.begin(self.run, spec, {**self.secrets, **secrets})
        except OSError as error:
            raise LaunchRefusedError(f"The workload could not be started: {told_of(error)}") from error
        self._change(LOAD_RUNS, state=RunState.RUNNING)

    def _workload_ended(self, status: ProcessStatus) -> None:
        words, is_well = self.loads.note_end(self.run, status)
        if self._is_launched_with and (is_well is False or self.run.stop_when_done):
            return self.end(words if is_well is False else None, words if is_well is None else None)
        return self._change(
            "workload done" if is_well is not False else words,
            state=RunState.READY,
            note=self.run.note if is_well else words,
        )

    # --- the end ----------------------------------------------------------------------------------------------------
    def _server_ended(self, end: ProcessExit, was_started: bool) -> None:
        words = server_words(self.backend, end, self._log_tail())
        if self.run.state is RunState.STARTING:
            return self._fail(words.rstrip(".") + " before it was ready." if was_started else words)
        if end.exit_code == 0:
            return self.end(note="The server ended by itself.")
        return self._fail(words)

    def _step_stopping(self) -> None:
        if self._stop is None:
            self._stop = self._stop_everything()
        elif self._stop.done():
            self._conclude(self.run.cause, self._stop.result() or BROKE_OFF)

    def _conclude(self, cause: str | None, stopped: Stopped = NOTHING_STOPPED) -> None:
        update = how_it_ended(self.run, cause, self._status(), stopped, self.deps.recorder.clock())
        self.run = self.run.model_copy(update=update)
        words = self.run.cause or self.run.note or "finished"
        tail = self._log_tail() if self.run.cause else []
        self.deps.recorder.save(self.run, words, actions=list(stopped[0].actions), log_tail=tail)
