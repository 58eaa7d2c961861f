"""Makes new runs: what this machine and the store are asked for them has a deadline, and holds up nobody else."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from commands.naming import KnownRuns, wanted_name
from domain import Config, Run
from launcher.checks.file_patterns import with_files_named
from launcher.checks.preflight import LaunchRefusedError, LaunchRequest, check_containers, port_of
from launcher.checks.readiness import accepts_connections
from launcher.runs.launching import Site, check_alone, make_runs, new_supervised
from launcher.runs.live_runs import LiveRuns
from launcher.runs.new_run import attached_run, identity
from launcher.runs.recorder import PATIENCE_S, RunStore
from launcher.runs.rounds import batch_of, repeats_of
from launcher.runs.supervised_runs.dependencies import Dependencies
from machine.asides import Asides
from machine.identity import machine_at
from machine.regular_file import pinned

T = TypeVar("T")
ANSWER_S = 4.0  # for all that a launch waits for: its paths, a container runtime, the store; for other buttons too
LEFT_S = 0.5  # of it, for the runtime and for the store each, however late what came before has answered
MORE_S = 0.9  # after that, for what is made of the store's answer; of a batch for each further run
SETTLE_S = 0.5  # at least, until what was made is stored
SILENT = "The store does not answer now, so nothing was started or changed: try again in a moment."
HOLD_FOLLOWS = "The disk does not answer now: the queue is paused, or goes on, as soon as it does."
NO_PATHS = "A disk or mount that the command names does not answer: nothing was started."
NO_LOG = "The disk or mount of the log {} does not answer: nothing is watched."


class SilentStoreError(LaunchRefusedError):
    """The store does not answer in time; the same may be asked again."""


@dataclass(frozen=True, slots=True)
class RunMaker:
    """Part of the supervisor, whose locks these are: of new runs, and of those that are known."""

    _store: RunStore
    _live: LiveRuns
    _deps: Dependencies
    _site: Site
    _making: threading.RLock
    _lock: threading.RLock
    _asides: Asides = field(default_factory=lambda: Asides("making", 1024))

    def launch(self, requests: Sequence[LaunchRequest], in_queue: bool, batch_id: str | None) -> list[Run]:
        """Record runs, all or none; raises LaunchRefusedError."""
        deadline_s = time.monotonic() + ANSWER_S
        requests = self._checked(requests, deadline_s)
        deadline_s = max(deadline_s, time.monotonic() + 2 * LEFT_S)  # the paths of a batch may have taken longer
        within_s = deadline_s - LEFT_S - time.monotonic()
        unknown = [None] * len(requests) if in_queue else check_containers(requests, within_s)
        with self._turn(deadline_s):
            runs = self._make(requests, in_queue, batch_id, deadline_s)
        for run, words in zip(runs, unknown, strict=True):
            self._warn(run, filter(None, [words]))
        return runs

    def repeat(self, run_id: str, times: int) -> list[Run]:
        """Queue further repeats of a run that has ended; raises LaunchRefusedError."""

        def asked() -> tuple[str, list[LaunchRequest]]:
            self._deps.recorder.wait_until_stored()
            run = self._live.stored(run_id)
            return batch_of(run), repeats_of(run, times, self._store.runs_of_batch(batch_of(run)))

        deadline_s = time.monotonic() + ANSWER_S
        self._checked(self._by(deadline_s, asked)[1][:1], deadline_s)
        with self._turn(deadline_s):
            batch_id, requests = self._by(deadline_s, asked)
            return self._make(requests, True, batch_id, deadline_s)

    def attach(
        self,
        base_url: str,
        config: Config,
        log_path: Path | None,
        pid: int | None,
        name: str | None,
        unknown: Iterable[str] = (),
    ) -> Run:
        """Watch a running server; the same URL gives the same run. Raises LaunchRefusedError if none answers.

        unknown: what is not known of its container, in sentences, because a limit was passed.
        """
        deadline_s = time.monotonic() + ANSWER_S
        base_url = base_url.rstrip("/")
        log_path = self._pinned(log_path, deadline_s) if log_path else None
        port_of(base_url)
        if not self._live.at(base_url) and not self._is_answered(base_url, deadline_s):
            raise LaunchRefusedError(f"Nothing answers at {base_url}.")
        machine = self._site.machine if pid is not None else machine_at(base_url, self._site.machine)
        with self._turn(deadline_s):
            if same := self._live.at(base_url):
                return same
            now = self._site.clock()
            run = self._by(deadline_s, lambda: attached_run(base_url, config, now, machine, self._known(), name))
            run = run.model_copy(update={"log_path": str(log_path) if log_path else None, **identity(pid)})
            with self._lock:
                self._live.watch(run)
                run = self._deps.recorder.save(run, "attached")
        self._warn(run, unknown)
        return run

    def _is_answered(self, base_url: str, deadline_s: float) -> bool:
        """Whether something listens there; what is not known in time is taken for a server that is too busy."""
        try:
            wait_s = max(deadline_s - LEFT_S - time.monotonic(), 0.0)
            return self._asides.ask(lambda: accepts_connections(base_url), wait_s)
        except TimeoutError:
            return True

    def _warn(self, run: Run, sentences: Iterable[str]) -> None:
        for words in sentences:
            self._deps.recorder.note(run.id, "warning", words)

    def hold_queue(self, is_on_hold: bool) -> None:
        """Keep that the queue is paused, or goes on, then do so; raises OSError, or SilentStoreError: it follows."""
        try:
            self._asides.ask(lambda: self._live.queue.hold(is_on_hold), ANSWER_S)
        except TimeoutError:
            raise SilentStoreError(HOLD_FOLLOWS) from None

    def ask(self, question: Callable[[], T]) -> T:
        """Ask the store one thing; raises SilentStoreError where it does not answer, though the question goes on."""
        return self._by(time.monotonic() + ANSWER_S, question)

    def _by(self, deadline_s: float, question: Callable[[], T]) -> T:
        try:
            return self._asides.ask(question, max(deadline_s - time.monotonic(), 0.0))
        except TimeoutError:
            raise SilentStoreError(SILENT) from None

    def _each(self, pieces: Iterable[T], deadline_s: float, undo: Callable[[], object] = lambda: None) -> list[T]:
        """What is made of each run of a batch: it asks no store, but a disk may hang."""
        try:
            return self._asides.each(pieces, max(deadline_s - time.monotonic(), 0.0), MORE_S, undo)
        except TimeoutError:
            raise SilentStoreError(SILENT) from None

    @contextmanager
    def _turn(self, deadline_s: float) -> Iterator[None]:
        """New runs are made one after the other, until this moment of the monotonic clock; then they are awaited."""
        if not self._making.acquire(timeout=max(deadline_s - time.monotonic(), 0.0)):
            raise SilentStoreError(SILENT)
        try:
            yield
        finally:
            self._making.release()
        self._deps.wake()
        self._deps.recorder.settle(min(PATIENCE_S, deadline_s - time.monotonic() + SETTLE_S))

    def _make(
        self, requests: Sequence[LaunchRequest], in_queue: bool, batch_id: str | None, deadline_s: float
    ) -> list[Run]:
        with self._lock:
            promised, place = self._live.promised(), None
            if in_queue:
                promised, place = [], self._live.queue.next_place(self._live.runs())
        known = self._by(deadline_s, lambda: self._known(requests))
        deadline_s = max(deadline_s, time.monotonic() + MORE_S)
        made = self._each(make_runs(requests, place, promised, known, self._site), deadline_s)
        if len(made) > 1:
            deadline_s = max(deadline_s, time.monotonic() + MORE_S)
        made = [run.model_copy(update={"batch_id": batch_id}) for run in made]
        pairs = zip(made, requests, strict=True)
        laid_down = (new_supervised(run, one, self._deps, self._site.hosts) for run, one in pairs)
        supervised_runs = self._each(laid_down, deadline_s, lambda: _withdraw(made))
        with self._lock:
            for supervised in supervised_runs:
                self._live.queue.add(supervised)
            self._deps.recorder.save_all(made, "queued")
        return made

    def _known(self, requests: Sequence[LaunchRequest] = ()) -> KnownRuns:
        """The runs of the store, and those that it may not have yet; the names that these requests ask for."""
        known = KnownRuns(self._store)
        known.ask_names([wanted_name(request.config, request.name) for request in requests])
        for run in (*self._live.runs(), *(supervised.run for supervised in self._live.queue.supervised_runs())):
            known.add(run)
        return known

    def _checked(self, requests: Sequence[LaunchRequest], deadline_s: float) -> list[LaunchRequest]:
        """The requests with the files that their patterns match; raises LaunchRefusedError. No lock is held."""

        def looked(request: LaunchRequest) -> LaunchRequest:
            named = with_files_named(request)
            check_alone(named)
            return named

        try:
            wait_s = max(deadline_s - 2 * LEFT_S - time.monotonic(), LEFT_S)
            return self._asides.each(map(looked, requests), wait_s, MORE_S)
        except TimeoutError:
            raise LaunchRefusedError(NO_PATHS) from None

    def _pinned(self, log_path: Path, deadline_s: float) -> Path:
        try:
            return self._asides.ask(lambda: pinned(log_path), deadline_s - 2 * LEFT_S - time.monotonic())
        except TimeoutError:
            raise LaunchRefusedError(NO_LOG.format(log_path)) from None


def _withdraw(runs: Sequence[Run]) -> None:
    """Remove what was laid down of runs that were never handed over."""
    for run in runs:
        shutil.rmtree(str(run.run_dir), ignore_errors=True)
