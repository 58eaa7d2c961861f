"""The state machine of one launched run; only the supervisor advances it, under its lock.

queued -> starting -> ready -> running (under its workload) -> stopping -> finished | failed
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commands.secrets import distinctive, hide_secrets, missing_secrets, quoted, unfilled_places
from domain import RunState
from launcher.checks.preflight import port_of
from launcher.checks.readiness import ReadinessPoll
from launcher.processes.exit_messages import log_tail
from launcher.processes.process import (
    ProcessExit,
    ProcessStatus,
    look_at,
    read_spec,
    start_shim,
)
from launcher.processes.runtimes import Backend, backend_of
from launcher.processes.startup_progress import Start, by_the_clock_of, is_pulling, read_bar
from launcher.runs.new_run import leftovers_of
from launcher.runs.provenance import freeze
from launcher.runs.supervised_runs.attached_run import WENT_AWAY, Contact
from launcher.runs.supervised_runs.launched_loads import LaunchedLoads
from launcher.runs.supervised_runs.looks import LONG_LOG_S, NO_BAR, NO_LAST_WORDS, LastWords, Look
from launcher.runs.supervised_runs.run_loads import NO_SHIM, RunLoads
from launcher.runs.supervised_runs.server_notes import Noted, ServerNotes
from launcher.runs.supervised_runs.teardown import (
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
STORED_WITHIN_S = 4.0  # before a server may start: a busy machine is no full disk
NO_SECRET = "It was not started: the value of {} is a secret that was not given: launch again, and give it."


@dataclass
class LaunchedRun(LaunchedLoads):
    """One launched run and what is under way for it."""

    was_adopted: bool = False  # from an earlier Pitwall
    _shim: subprocess.Popen[bytes] | None = None  # the server's
    _stored: Future[None] | None = None  # that it starts, while the store has yet to take it
    _stored_by_s: float = 0.0  # monotonic, or it is not started
    _start: Start | None = None
    _begun_s: float | None = None  # monotonic, None when an earlier Pitwall began it
    _stop: Future[Stopped | None] | None = None
    _frozen: Future[dict[str, Any] | None] | None = None
    _contact: Contact | None = None

    def __post_init__(self) -> None:
        self.loads = RunLoads(self.deps, self.directory)
        self._notes = ServerNotes(self.deps, self.directory)
        self._bar: Look[tuple[str | None]] = Look(self.deps, NO_BAR)
        self._last_words: Look[LastWords] = Look(self.deps, NO_LAST_WORDS, LONG_LOG_S)
        self._last_lines: Look[list[str]] = Look(self.deps, NO_LAST_WORDS)
        KNOWN.add(distinctive(self.secrets.values()))

    @property
    def backend(self) -> Backend:
        run = self.run
        return backend_of(run.config, run.id, run.on_host is None, lambda words: self._notes.passed(run.id, words))

    @property
    def directory(self) -> Path:
        assert self.run.run_dir
        return Path(self.run.run_dir)

    def begin(self) -> None:
        """Start the server as soon as the store knows that it starts, or nobody would know of it after a crash."""
        update = {"state": RunState.STARTING, "started_at": self.deps.recorder.clock()}
        self.run = self.run.model_copy(update=update)
        self._stored_by_s = self.deps.mono_s() + STORED_WITHIN_S
        self._stored = self.deps.recorder.hand_over([self.run])
        if not self._stored.done():
            self._stored.add_done_callback(lambda _: self.deps.wake())
        self._step_storing(self._stored)

    def _step_storing(self, stored: Future[None]) -> None:
        if stored.done():
            self._stored = None
            stored.result()
            self._begin_stored()
        elif self.deps.mono_s() > self._stored_by_s:
            self._conclude(NOT_STORED)

    def _begin_stored(self) -> None:
        """What has become impossible since it was queued makes a failed run."""
        run = self.run
        self.deps.recorder.note(run.id, "state", "starting", state=run.state.value)
        self._begun_s = self.deps.mono_s()
        was_adopted, self.was_adopted = self.was_adopted, False
        if was_adopted and self._status().state != "absent":
            return None  # the earlier Pitwall's start came through after all, and the port is its server's
        missing = missing_secrets(run.config, os.environ)
        if was_adopted and missing:
            return self._conclude(f"The secret {quoted(missing)} was not kept over Pitwall's restart: launch again.")
        if obstacle := self._port_obstacle():
            return self._conclude(obstacle)
        # After a restart only what Pitwall's own environment holds is left of the secrets.
        inherited = hide_secrets(run.config.argv, run.config.env, {}, os.environ).secrets
        self.secrets = {**inherited, **self.secrets}
        KNOWN.add(distinctive(self.secrets.values()))
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
        return look_at(self.directory, self._shim)

    def _stop_everything(self) -> Future[Stopped | None]:
        return self._in_pool(lambda: stop_everything(self.run, self.deps.stop_grace_s, self.deps.gpus))

    def _start_server(self) -> None:
        """The last moment to see that every secret is in its place."""
        try:
            if unfilled := unfilled_places(self._spec(), self.secrets):
                return self._conclude(NO_SECRET.format(quoted(unfilled)))
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
        if self._stored:
            return self._step_storing(self._stored)
        status = self._status()
        if status.state == "absent":
            return self._start_again()
        if status.exit and self._has_detached(status.exit):
            return self._step_detached()
        if status.exit:
            return self._server_ended(status.exit, status.started_at is not None)
        if status.state == "alive":
            self._note(self._notes.process(self.run, self.backend, status))
            if not status.is_supervised:
                self._notes.stand_in_for_shim(self.run)
        if self.run.state is RunState.STARTING:
            return self._step_starting()
        self._note(self._notes.container(self.run, self.backend.look, self._in_pool))
        return self._step_workload()

    def end(self, cause: str | None = None, note: str | None = None, cause_line: str | None = None) -> None:
        """Begin to stop everything that the run started; with a cause it is a failure."""
        if self.run.state is RunState.STOPPING or self.run.state.is_final:
            return
        update = {"cause": cause, "cause_line": cause_line, "note": note or self.run.note}
        self._change(cause or note or "stopping", state=RunState.STOPPING, **update)

    def _fail(self, words: str, last: LastWords) -> None:
        """End for a fault of the server's own; its log may say more than its exit does, if only by its last line."""
        last_line = next(filter(str.strip, reversed(last.tail)), None)
        cause, line = last.cause or (words, last_line)
        self.end(cause, cause_line=line)

    def _read_last_words(self, exit_code: int | None = None) -> LastWords | None:
        """None while its log is read."""
        run = self.run
        read = self._last_words.take(
            run, lambda: LastWords(self._log_tail(), self._attempt(lambda: self.deps.explain_failure(run, exit_code)))
        )
        return LastWords([], None) if read is None and self._last_words.hangs else read

    def _log_tail(self) -> list[str]:
        path, secrets = self.run.log_path, self.secrets.values()
        return (self._attempt(lambda: log_tail(Path(path), secrets)) if path else None) or []

    def _note(self, noted: Noted | None) -> None:
        if noted:
            self._change(noted.text, **noted.fields)

    def _note_provenance(self) -> None:
        if self._frozen and self._frozen.done():
            frozen, self._frozen = self._frozen.result(), None
            if frozen:
                self._change("what it runs on is noted", provenance={**frozen, **(self.run.provenance or {})})

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
            return
        words = self._start.give_up(self.run.phase, self.deps.mono_s())
        if words and (last := self._read_last_words()):
            self._fail(words, last)

    def _note_phase(self) -> None:
        """What the log says before the engine has a word, and in lines that have no end yet."""
        if self.run.log_path:
            log, backend, engine = Path(self.run.log_path), self.backend, self.run.config.engine
            found = self._bar.take(self.run, lambda: (backend.phase(log) or read_bar(log, engine),))
            phase = found[0] if found else self.run.phase
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

    # --- the end ----------------------------------------------------------------------------------------------------
    def _server_ended(self, end: ProcessExit, was_started: bool) -> None:
        is_starting = self.run.state is RunState.STARTING
        last = self._read_last_words(None if is_starting else end.exit_code)
        if last is None:
            return None
        if end.exit_code == 0 and not is_starting and last.cause is None:
            return self.end(note="The server ended by itself.")
        words = server_words(self.backend, end, last.tail)
        return self._fail(words.rstrip(".") + " before it was ready." if is_starting and was_started else words, last)

    def _step_stopping(self) -> None:
        if self._stop is None:
            self._stop = self._stop_everything()
        elif self._stop.done():
            tail = self._last_lines.take(self.run, self._log_tail) if self.run.cause else []
            if tail is not None or self._last_lines.hangs:
                self._conclude(self.run.cause, self._stop.result() or BROKE_OFF, tail or [])

    def _conclude(self, cause: str | None, stopped: Stopped = NOTHING_STOPPED, tail: Sequence[str] = ()) -> None:
        update = how_it_ended(self.run, cause, self._status(), stopped, self.deps.recorder.clock())
        self.run = self.run.model_copy(update=update)
        words = self.run.cause or self.run.note or "finished"
        self.deps.recorder.save(self.run, words, actions=list(stopped[0].actions), log_tail=list(tail))
