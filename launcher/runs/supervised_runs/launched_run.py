"""State machine of one launched run; only the supervisor advances it, under its lock.

queued -> starting -> ready -> running (under its workload) -> stopping -> finished | failed
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from commands.secrets import distinctive, hide_secrets, missing_secrets, quoted, unfilled_places
from domain import STORE_REFUSED, WATCH, RunState, WorkloadSpec
from errors import PitwallError
from launcher.checks.launch_request import port_of
from launcher.checks.provenance import freeze
from launcher.processes.exit_messages import explaining_line, log_tail
from launcher.processes.process import (
    ProcessExit,
    ProcessStatus,
    process_status,
    read_spec,
    start_shim,
)
from launcher.processes.readiness import ReadinessPoll
from launcher.processes.runtimes import Backend, backend_of, leftovers_of
from launcher.processes.startup_progress import StartTimeout, adjust_clock, is_pulling, read_bar
from launcher.runs.supervised_runs.attached_run import WENT_AWAY, ServerContact
from launcher.runs.supervised_runs.run_loads import LOAD_RUNS, NO_SHIM, RunLoads, describe_error
from launcher.runs.supervised_runs.server_notes import RecordChange, ServerNotes
from launcher.runs.supervised_runs.slow_reads import LONG_LOG_S, NO_BAR, NO_LAST_WORDS, LogEnding, SlowRead
from launcher.runs.supervised_runs.supervised_run import SupervisedRun
from launcher.teardown import (
    NOTHING_STOPPED,
    STOP_FAILED,
    StopResult,
    describe_server_exit,
    final_fields,
    is_left_alone,
    leave_alone,
    stop_everything,
)
from machine.ports import describe_busy_port, is_port_free
from redaction import KNOWN

SCRIPT_ENDED = "the script has ended, waiting for the server"
LEFT_ALONE = "Its script started the server elsewhere and ended: Pitwall watches the server and does not stop it."
STORED_WITHIN_S = 4.0  # before a server may start; long enough for a busy machine
SAMPLED_WITHIN_S = 3.0  # after the last load; counters are read once a second
NO_SECRET = "It was not started: the value of {} is a secret that was not entered. Launch again and enter it."


@dataclass
class LaunchedRun(SupervisedRun):
    """One launched run and its pending operations."""

    secrets: Mapping[str, str] = field(default_factory=dict)
    was_adopted: bool = False  # from an earlier Pitwall
    _shim: subprocess.Popen[bytes] | None = None  # the server's
    _storing: Future[None] | None = None  # of its starting state, until the store has it
    _store_deadline_s: float = 0.0  # monotonic; after it the run is not started
    _timeout: StartTimeout | None = None
    _started_mono_s: float | None = None  # monotonic; None if an earlier Pitwall started it
    _stop: Future[StopResult | None] | None = None
    _provenance: Future[dict[str, Any] | None] | None = None
    _contact: ServerContact | None = None
    _is_sampled: Callable[[], bool] | None = None  # since the last load ended
    _sample_deadline_s: float | None = None  # monotonic; after it the server is stopped without

    def __post_init__(self) -> None:
        self.loads = RunLoads(self.deps, self.directory)
        self._notes = ServerNotes(self.deps, self.directory)
        self._phase_read: SlowRead[tuple[str | None]] = SlowRead(self.deps, NO_BAR)
        self._ending_read: SlowRead[LogEnding] = SlowRead(self.deps, NO_LAST_WORDS, LONG_LOG_S)
        self._tail_read: SlowRead[list[str]] = SlowRead(self.deps, NO_LAST_WORDS)
        KNOWN.add(distinctive(self.secrets.values()))

    @property
    def backend(self) -> Backend:
        run = self.run
        return backend_of(
            run.config, run.id, run.on_host is None, lambda sentence: self._notes.report_limit(run.id, sentence)
        )

    @property
    def directory(self) -> Path:
        assert self.run.run_dir
        return Path(self.run.run_dir)

    def begin(self) -> None:
        """Start the server as soon as the store has recorded its start, so that it is known after a crash."""
        update = {"state": RunState.STARTING, "started_at": self.deps.state_log.clock()}
        self.run = self.run.model_copy(update=update)
        self._store_deadline_s = self.deps.mono_s() + STORED_WITHIN_S
        self._storing = self.deps.state_log.hand_over([self.run])
        if not self._storing.done():
            self._storing.add_done_callback(lambda _: self.deps.wake())
        self._step_storing(self._storing)

    def _step_storing(self, stored: Future[None]) -> None:
        if stored.done():
            self._storing = None
            stored.result()
            self._begin_stored()
        elif self.deps.mono_s() > self._store_deadline_s:
            self._conclude(STORE_REFUSED)

    def _begin_stored(self) -> None:
        """Start the server; the run fails if the start has become impossible since it was queued."""
        run = self.run
        self.deps.state_log.note(run.id, "state", "starting", state=run.state.value)
        self._started_mono_s = self.deps.mono_s()
        was_adopted, self.was_adopted = self.was_adopted, False
        if was_adopted and self._status().state != "absent":
            return None  # the earlier Pitwall's start succeeded after all, and its server holds the port
        if was_adopted and (missing := self._restore_secrets()):
            return self._conclude(f"The secret {quoted(missing)} was lost when Pitwall restarted: launch again.")
        if obstacle := self._port_obstacle():
            return self._conclude(obstacle)
        self._provenance = self._read_provenance()
        return self._start_server()

    def _restore_secrets(self) -> list[str]:
        """Take the secrets from Pitwall's own environment after a restart; return the places of missing ones."""
        config = self.run.config
        inherited = hide_secrets(config.argv, config.env, {}, os.environ).secrets
        self.secrets = {**inherited, **self.secrets}
        KNOWN.add(distinctive(self.secrets.values()))
        return missing_secrets(config, os.environ)

    def _port_obstacle(self) -> str | None:
        assert self.run.base_url
        port = port_of(self.run.base_url)
        return None if is_port_free(port, self.run.config.host) else describe_busy_port(port)

    def _read_provenance(self) -> Future[dict[str, Any] | None] | None:
        run = self.run
        return self._in_pool(lambda: freeze(run, self.deps.gpus()))

    def _spec(self) -> Mapping[str, Any]:
        """Return the command and the environment from spec.json, with placeholders for secrets."""
        return read_spec(self.directory)

    def _status(self) -> ProcessStatus:
        """Return the server's status."""
        return process_status(self.directory, self._shim)

    def _stop_everything(self) -> Future[StopResult | None]:
        return self._in_pool(lambda: stop_everything(self.run, self.deps.stop_grace_s, self.deps.gpus))

    def _start_server(self) -> None:
        """Start the shim, after a last check that every secret is filled in."""
        try:
            if unfilled := unfilled_places(self._spec(), self.secrets):
                return self._conclude(NO_SECRET.format(quoted(unfilled)))
            self._shim = start_shim(self.directory, self.secrets)
        except OSError as error:
            self._conclude(f"The server could not be started: {error.strerror} ({error.filename}).")
        return None

    def step(self) -> None:
        """Check once, and make the due state change."""
        if self._shim:
            self._shim.poll()
        self._note_provenance()
        if self.run.state is RunState.STOPPING:
            return self._step_stopping()
        if self._storing:
            return self._step_storing(self._storing)
        status = self._status()
        if status.state == "absent":
            return self._start_again()
        if status.exit and self._has_detached(status.exit):
            return self._step_detached()
        if status.exit:
            return self._server_ended(status.exit, status.started_at is not None)
        if status.state == "alive":
            self._apply(self._notes.note_process(self.run, self.backend, status))
            if not status.is_supervised:
                self._notes.record_descendants(self.run)
        if self.run.state is RunState.STARTING:
            return self._step_starting()
        self._apply(self._notes.note_container(self.run, self.backend.inspect, self._in_pool))
        return self._step_workload()

    def end(self, cause: str | None = None, note: str | None = None, cause_line: str | None = None) -> None:
        """Begin to stop everything that the run started; with a cause, the run failed."""
        if self.run.state is RunState.STOPPING or self.run.state.is_final:
            return
        update = {"cause": cause, "cause_line": cause_line, "note": note or self.run.note}
        self._change(cause or note or "stopping", state=RunState.STOPPING, **update)

    def _fail(self, reason: str, ending: LogEnding) -> None:
        """End for a fault of the server; its log may give a better cause than its exit, or at least a line of it."""
        cause, line = ending.cause or (reason, explaining_line(ending.tail))
        self.end(cause, cause_line=line)

    def _read_ending(self, exit_code: int | None = None) -> LogEnding | None:
        """Return the end of the log; None while it is being read."""
        run = self.run
        ending = self._ending_read.poll(
            run, lambda: LogEnding(self._log_tail(), self._attempt(lambda: self.deps.explain_failure(run, exit_code)))
        )
        return LogEnding([], None) if ending is None and self._ending_read.hangs else ending

    def _log_tail(self) -> list[str]:
        path, secrets = self.run.log_path, self.secrets.values()
        return (self._attempt(lambda: log_tail(Path(path), secrets)) if path else None) or []

    def _apply(self, change: RecordChange | None) -> None:
        if change:
            self._change(change.text, **change.fields)

    def _note_provenance(self) -> None:
        if self._provenance and self._provenance.done():
            frozen, self._provenance = self._provenance.result(), None
            if frozen:
                self._change("provenance recorded", provenance={**frozen, **(self.run.provenance or {})})

    def _start_again(self) -> None:
        """Handle a server that was never started: Pitwall ended between recording the start and starting it."""
        if self._shim:
            return self.end(NO_SHIM)
        if self.run.state is RunState.STARTING and (self.directory / "spec.json").exists():
            return self.begin()
        return self.end("Its run directory is gone, so the server's end is unknown.")

    # --- starting ---------------------------------------------------------------------------------------------------
    def _step_starting(self) -> None:
        self._note_phase()
        if self._timeout is None:
            poll = ReadinessPoll(self.deps.pool, f"{self.run.base_url}{self.run.ready_path}")
            self._timeout = StartTimeout(poll, self.run.ready_timeout_s)
        if self._timeout.poll.is_ready():
            self._became_ready()
            return
        reason = self._timeout.explain_timeout(self.run.phase, self.deps.mono_s())
        if reason and (ending := self._read_ending()):
            self._fail(reason, ending)

    def _note_phase(self) -> None:
        """Update the phase from the log: an image pull before the engine starts, and unfinished progress bars."""
        if self.run.log_path:
            log, backend, engine = Path(self.run.log_path), self.backend, self.run.config.engine
            phase_read = self._phase_read.poll(self.run, lambda: (backend.read_phase(log) or read_bar(log, engine),))
            phase = phase_read[0] if phase_read else self.run.phase
            if phase != self.run.phase and (phase or is_pulling(self.run.phase)):
                self._change(phase or "image pulled", phase=phase)

    def _became_ready(self) -> None:
        note = self.run.note
        if self.was_adopted:
            note = "It may have been ready earlier: Pitwall restarted during its start."
        ready_at, started_at = self.deps.state_log.clock(), self.run.started_at
        if started_at and self._started_mono_s is not None:
            started_at = adjust_clock(ready_at, started_at, self.deps.mono_s() - self._started_mono_s)
        self._change("ready", state=RunState.READY, started_at=started_at, ready_at=ready_at, phase=None, note=note)

    # --- a script that started its server elsewhere -----------------------------------------------------------------
    def _has_detached(self, end: ProcessExit) -> bool:
        """Whether a script ended well before its server was ready, and left no process here to follow.

        Its server runs in a container, or elsewhere.
        """
        is_new = self.run.state is RunState.STARTING and end.exit_code == 0 and not is_left_alone(self.directory)
        if is_new and leftovers_of(self.run.config) == "follow":
            leave_alone(self.directory)
            self._change(SCRIPT_ENDED, phase=SCRIPT_ENDED, note=LEFT_ALONE)
        return is_left_alone(self.directory)

    def _step_detached(self) -> None:
        assert self.run.base_url
        if self.run.state is RunState.STARTING:
            return self._step_starting()
        self._contact = self._contact or ServerContact(self.run.base_url, self.deps)
        return self.end(note=WENT_AWAY) if self._contact.is_lost() else self._step_workload()

    # --- its loads --------------------------------------------------------------------------------------------------
    def _step_workload(self) -> None:
        status = self.loads.read_status()
        if status.state == "absent":
            return self._begin_workload()
        if status.state == "ended":
            is_due = self.run.state is RunState.RUNNING or (self._is_planned and self.run.stop_when_done)
            return self._workload_ended(status) if is_due and self._may_stop() else None
        if self.run.state is RunState.READY:
            self._change(LOAD_RUNS, state=RunState.RUNNING)
        return None

    def _may_stop(self) -> bool:
        """Whether the server was sampled after its last load, if it is stopped then; always True otherwise.

        Without these samples its counters would lack what they counted since the scrape before, up to a second.
        """
        is_last = self.loads.index + 1 == len(self._planned_loads)
        if not (is_last and self.run.stop_when_done):
            return True
        if self._sample_deadline_s is None:
            self._sample_deadline_s = self.deps.mono_s() + SAMPLED_WITHIN_S
        self._is_sampled = self._is_sampled or self.deps.next_samples(self.run.id)
        is_sampled = self._is_sampled is not None and self._is_sampled()
        return is_sampled or self.deps.mono_s() > self._sample_deadline_s

    @property
    def has_workload(self) -> bool:
        return self.run.workload is not None and self.run.workload.name != WATCH.name

    @property
    def _planned_loads(self) -> tuple[WorkloadSpec, ...]:
        return self.run.workloads if self.has_workload else ()

    @property
    def _is_planned(self) -> bool:
        """Whether the newest load is one that the run was launched with."""
        return self.loads.index < len(self._planned_loads)

    def _begin_workload(self) -> None:
        """Start the next planned load, or handle a load whose shim could not start."""
        if not self.loads.could_not_start():
            return self._start_workload(self.loads.index) if self._is_planned else None
        if self._is_planned:
            return self.end(NO_SHIM)
        return self._change(NO_SHIM, state=RunState.READY) if self.run.state is RunState.RUNNING else None

    def _start_workload(self, index: int) -> None:
        """Start the planned load at this index."""
        try:
            self.loads.begin(self.run, self._planned_loads[index], self.secrets)
        except (OSError, PitwallError) as error:
            return self.end(f"The workload could not be started: {describe_error(error)}")
        return self._change(LOAD_RUNS, state=RunState.RUNNING)

    def start_load(self, spec: WorkloadSpec, secrets: Mapping[str, str]) -> None:
        """Start a further load on the server; raises LaunchRefusedError."""
        super().start_load(spec, {**self.secrets, **secrets})

    def _workload_ended(self, status: ProcessStatus) -> None:
        sentence, is_well = self.loads.note_end(self.run, status)
        index, count = self.loads.index, len(self._planned_loads)
        if index + 1 < count:  # the next load can run even after a failed one
            return self._start_workload(index + 1)
        if index < count > 1:
            sentence, is_well = _worst_end(self.loads.ends(count))
        if self._is_planned and (is_well is False or self.run.stop_when_done):
            return self.end(sentence if is_well is False else None, sentence if is_well is None else None)
        return self._change(
            "workload done" if is_well is not False else sentence,
            state=RunState.READY,
            note=self.run.note if is_well else sentence,
        )

    # --- the end ----------------------------------------------------------------------------------------------------
    def _server_ended(self, end: ProcessExit, was_started: bool) -> None:
        is_starting = self.run.state is RunState.STARTING
        ending = self._read_ending(None if is_starting else end.exit_code)
        if ending is None:
            return None
        if end.exit_code == 0 and not is_starting and ending.cause is None:
            return self.end(note="The server ended by itself.")
        reason = describe_server_exit(self.backend, end, ending.tail)
        return self._fail(
            reason.rstrip(".") + " before it was ready." if is_starting and was_started else reason, ending
        )

    def _step_stopping(self) -> None:
        if self._stop is None:
            self._stop = self._stop_everything()
        elif self._stop.done():
            tail = self._tail_read.poll(self.run, self._log_tail) if self.run.cause else []
            if tail is not None or self._tail_read.hangs:
                self._conclude(self.run.cause, self._stop.result() or STOP_FAILED, tail or [])

    def _conclude(self, cause: str | None, stopped: StopResult = NOTHING_STOPPED, tail: Sequence[str] = ()) -> None:
        update = final_fields(self.run, cause, self._status(), stopped, self.deps.state_log.clock())
        self.run = self.run.model_copy(update=update)
        text = self.run.cause or self.run.note or "finished"
        self.deps.state_log.save(self.run, text, actions=list(stopped[0].actions), log_tail=list(tail))


def _worst_end(ends: Sequence[tuple[str, bool | None]]) -> tuple[str, bool | None]:
    """Return the first failed end, else the first unknown one, else the last."""
    for is_well in (False, None):
        if matches := [end for end in ends if end[1] is is_well]:
            return matches[0]
    return ends[-1]
