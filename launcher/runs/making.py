"""Makes new runs: what this machine and the store are asked for them has a deadline, and holds up nobody else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from commands.naming import KnownRuns
from domain import Config, Run
from launcher.checks.file_patterns import with_files_named
from launcher.checks.preflight import LaunchRefusedError, LaunchRequest, check_container, port_of
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
STORE_S = 4.0  # for all that the store is asked for one run
EACH_S = 0.1  # more for each further run that is made with it
SETTLE_S = 0.5  # at least, until what was made is stored
PATHS_S = 4.0
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
    _asides: Asides = field(default_factory=lambda: Asides("making", 64))

    def launch(self, requests: Sequence[LaunchRequest], in_queue: bool, batch_id: str | None) -> list[Run]:
        """Record runs, all or none; raises LaunchRefusedError."""
        requests = self._checked(requests, in_queue)
        with self._turn(len(requests)) as deadline_s:
            return self._make(requests, in_queue, batch_id, deadline_s)

    def repeat(self, run_id: str, times: int) -> list[Run]:
        """Queue further repeats of a run that has ended; raises LaunchRefusedError."""

        def asked() -> tuple[str, list[LaunchRequest]]:
            self._deps.recorder.wait_until_stored()
            run = self._live.stored(run_id)
            return batch_of(run), repeats_of(run, times, self._store.runs_of_batch(batch_of(run)))

        self._checked(self.ask(asked)[1][:1], in_queue=True)
        with self._turn(times) as deadline_s:
            batch_id, requests = self._by(deadline_s, asked)
            return self._make(requests, True, batch_id, deadline_s)

    def attach(self, base_url: str, config: Config, log_path: Path | None, pid: int | None, name: str | None) -> Run:
        """Watch a running server; the same URL gives the same run. Raises LaunchRefusedError if none answers."""
        base_url = base_url.rstrip("/")
        log_path = self._pinned(log_path) if log_path else None
        port_of(base_url)
        if not self._live.at(base_url) and not accepts_connections(base_url):
            raise LaunchRefusedError(f"Nothing answers at {base_url}.")
        machine = self._site.machine if pid is not None else machine_at(base_url, self._site.machine)
        with self._turn() as deadline_s:
            if same := self._live.at(base_url):
                return same
            now = self._site.clock()
            run = self._by(deadline_s, lambda: attached_run(base_url, config, now, machine, self._known(), name))
            run = run.model_copy(update={"log_path": str(log_path) if log_path else None, **identity(pid)})
            with self._lock:
                self._live.watch(run)
                return self._deps.recorder.save(run, "attached")

    def hold_queue(self, is_on_hold: bool) -> None:
        """Keep that the queue is paused, or goes on, then do so; raises OSError, or SilentStoreError: it follows."""
        try:
            self._asides.ask(lambda: self._live.queue.hold(is_on_hold), STORE_S)
        except TimeoutError:
            raise SilentStoreError(HOLD_FOLLOWS) from None

    def ask(self, question: Callable[[], T]) -> T:
        """Ask the store one thing; raises SilentStoreError where it does not answer, though the question goes on."""
        return self._by(time.monotonic() + STORE_S, question)

    def _by(self, deadline_s: float, question: Callable[[], T]) -> T:
        try:
            return self._asides.ask(question, max(deadline_s - time.monotonic(), 0.0))
        except TimeoutError:
            raise SilentStoreError(SILENT) from None

    @contextmanager
    def _turn(self, runs: int = 1) -> Iterator[float]:
        """New runs are made one after the other, until this moment of the monotonic clock; then they are awaited."""
        deadline_s = time.monotonic() + STORE_S + EACH_S * (runs - 1)
        if not self._making.acquire(timeout=STORE_S):
            raise SilentStoreError(SILENT)
        try:
            yield deadline_s
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
        made = self._by(deadline_s, lambda: make_runs(requests, place, promised, self._known(), self._site))
        made = [run.model_copy(update={"batch_id": batch_id}) for run in made]
        pairs = list(zip(made, requests, strict=True))
        supervised_runs = self._by(
            deadline_s, lambda: [new_supervised(run, one, self._deps, self._site.hosts) for run, one in pairs]
        )
        with self._lock:
            for supervised in supervised_runs:
                self._live.queue.add(supervised)
            self._deps.recorder.save_all(made, "queued")
        return made

    def _known(self) -> KnownRuns:
        """The runs of the store, and those that it may not have yet."""
        known = KnownRuns(self._store)
        for run in (*self._live.runs(), *(supervised.run for supervised in self._live.queue.supervised_runs())):
            known.add(run)
        return known

    def _checked(self, requests: Sequence[LaunchRequest], in_queue: bool) -> list[LaunchRequest]:
        """The requests with the files that their patterns match; raises LaunchRefusedError. No lock is held."""

        def looked() -> list[LaunchRequest]:
            named = [with_files_named(request) for request in requests]
            for request in named:
                check_alone(request)
            return named

        try:
            checked = self._asides.ask(looked, PATHS_S)
        except TimeoutError:
            raise LaunchRefusedError(NO_PATHS) from None
        for request in checked:
            if not in_queue and request.on_host is None:
                check_container(request.config)
        return checked

    def _pinned(self, log_path: Path) -> Path:
        try:
            return self._asides.ask(lambda: pinned(log_path), PATHS_S)
        except TimeoutError:
            raise LaunchRefusedError(NO_LOG.format(log_path)) from None
