"""Creates new runs; all queries to this machine and to the store have a deadline and block no other call."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from commands.naming import RunNaming, requested_name
from domain import Config, Run
from launcher.checks.launch_request import LaunchRefusedError, LaunchRequest, port_of
from launcher.checks.preflight import check_containers
from launcher.checks.prepared_launch import PreparedLaunch
from launcher.processes.readiness import accepts_connections
from launcher.runs.launching import LaunchSite, make_runs, new_supervised_run, prepare_and_check
from launcher.runs.live_runs import LiveRunRegistry
from launcher.runs.new_run import new_attached_run, process_identity
from launcher.runs.rounds import batch_of, repeats_of
from launcher.runs.state_log import WAIT_S, RunStateStore
from launcher.runs.supervised_runs.dependencies import Dependencies
from machine.detached_calls import DetachedCalls
from machine.identity import machine_at
from machine.regular_file import pin_path

T = TypeVar("T")
DEADLINE_S = (
    4.0  # for everything that a launch waits for: paths, a container runtime, the store; also for other buttons
)
RESERVE_S = 0.5  # reserved of it for the runtime and for the store each, however late the earlier steps answered
PER_RUN_S = 0.9  # for each run after the store's answer
SETTLE_S = 0.5  # at least, until the runs are stored
SILENT_STORE = "The store is not responding, so nothing was started or changed: try again in a moment."
HOLD_FOLLOWS = "The disk is not responding: the queue is paused or resumed as soon as it responds."
NO_PATHS = "A disk or mount named in the command is not responding: nothing was started."
NO_LOG = "The disk or mount of the log {} is not responding: nothing is watched."


class SilentStoreError(LaunchRefusedError):
    """The store did not answer in time; the call may be repeated."""


@dataclass(frozen=True, slots=True)
class RunFactory:
    """Part of the supervisor, with two of its locks: `_making` for new runs, `_lock` for known ones."""

    _store: RunStateStore
    _live: LiveRunRegistry
    _deps: Dependencies
    _site: LaunchSite
    _making: threading.RLock
    _lock: threading.RLock
    _calls: DetachedCalls = field(default_factory=lambda: DetachedCalls("making", 1024))

    def launch(self, requests: Sequence[LaunchRequest], in_queue: bool, batch_id: str | None) -> list[Run]:
        """Record all of these runs or none; raises LaunchRefusedError."""
        deadline_s = time.monotonic() + DEADLINE_S
        launches = self._prepare(requests, deadline_s)
        deadline_s = max(deadline_s, time.monotonic() + 2 * RESERVE_S)  # checking the paths of a batch may take longer
        within_s = deadline_s - RESERVE_S - time.monotonic()
        unknown = [None] * len(launches) if in_queue else check_containers(launches, within_s)
        with self._exclusive(deadline_s):
            runs = self._make_runs(launches, in_queue, batch_id, deadline_s)
        for run, sentence in zip(runs, unknown, strict=True):
            self._warn(run, filter(None, [sentence]))
        return runs

    def repeat(self, run_id: str, times: int) -> list[Run]:
        """Queue further repeats of an ended run; raises LaunchRefusedError."""

        def read_repeats() -> tuple[str, list[LaunchRequest]]:
            self._deps.state_log.wait_until_stored()
            run = self._live.read_stored(run_id)
            return batch_of(run), repeats_of(run, times, self._store.runs_of_batch(batch_of(run)))

        deadline_s = time.monotonic() + DEADLINE_S
        _, requests = self._ask_within(deadline_s, read_repeats)
        (launch,) = self._prepare(requests[:1], deadline_s)
        with self._exclusive(deadline_s):
            batch_id, requests = self._ask_within(deadline_s, read_repeats)
            return self._make_runs([launch.as_repeat(request) for request in requests], True, batch_id, deadline_s)

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

        unknown: sentences about exceeded limits in the discovery of its container.
        """
        deadline_s = time.monotonic() + DEADLINE_S
        base_url = base_url.rstrip("/")
        log_path = self._pin_path(log_path, deadline_s) if log_path else None
        port_of(base_url)
        if not self._live.find_at_url(base_url) and not self._is_answered(base_url, deadline_s):
            raise LaunchRefusedError(f"Nothing answers at {base_url}.")
        machine = self._site.machine if pid is not None else machine_at(base_url, self._site.machine)
        with self._exclusive(deadline_s):
            if existing := self._live.find_at_url(base_url):
                return existing
            now = self._site.clock()
            run = self._ask_within(
                deadline_s, lambda: new_attached_run(base_url, config, now, machine, self._naming(), name)
            )
            run = run.model_copy(update={"log_path": str(log_path) if log_path else None, **process_identity(pid)})
            with self._lock:
                self._live.watch(run)
                run = self._deps.state_log.save(run, "attached")
        self._warn(run, unknown)
        return run

    def _is_answered(self, base_url: str, deadline_s: float) -> bool:
        """Whether something listens there; no result in time counts as a server that is too busy."""
        try:
            wait_s = max(deadline_s - RESERVE_S - time.monotonic(), 0.0)
            return self._calls.call_within(lambda: accepts_connections(base_url), wait_s)
        except TimeoutError:
            return True

    def _warn(self, run: Run, sentences: Iterable[str]) -> None:
        for sentence in sentences:
            self._deps.state_log.note(run.id, "warning", sentence)

    def hold_queue(self, is_on_hold: bool) -> None:
        """Pause or resume the queue; raises OSError, or SilentStoreError if the change takes effect later."""
        try:
            self._calls.call_within(lambda: self._live.queue.hold(is_on_hold), DEADLINE_S)
        except TimeoutError:
            raise SilentStoreError(HOLD_FOLLOWS) from None

    def ask(self, question: Callable[[], T]) -> T:
        """Query the store; raises SilentStoreError if it does not answer in time, though the query continues."""
        return self._ask_within(time.monotonic() + DEADLINE_S, question)

    def _ask_within(self, deadline_s: float, question: Callable[[], T]) -> T:
        try:
            return self._calls.call_within(question, max(deadline_s - time.monotonic(), 0.0))
        except TimeoutError:
            raise SilentStoreError(SILENT_STORE) from None

    def _collect(self, pieces: Iterable[T], deadline_s: float, undo: Callable[[], object] = lambda: None) -> list[T]:
        """Collect one result per run of a batch; this needs no store, but a disk may hang."""
        try:
            return self._calls.collect(pieces, max(deadline_s - time.monotonic(), 0.0), PER_RUN_S, undo)
        except TimeoutError:
            raise SilentStoreError(SILENT_STORE) from None

    @contextmanager
    def _exclusive(self, deadline_s: float) -> Iterator[None]:
        """Hold the lock for new runs, acquired before the deadline; then wait briefly until they are stored."""
        if not self._making.acquire(timeout=max(deadline_s - time.monotonic(), 0.0)):
            raise SilentStoreError(SILENT_STORE)
        try:
            yield
        finally:
            self._making.release()
        self._deps.wake()
        self._deps.state_log.wait_briefly(min(WAIT_S, deadline_s - time.monotonic() + SETTLE_S))

    def _make_runs(
        self, launches: Sequence[PreparedLaunch], in_queue: bool, batch_id: str | None, deadline_s: float
    ) -> list[Run]:
        with self._lock:
            reserving, position = self._live.reserving_runs(), None
            if in_queue:
                reserving, position = [], self._live.queue.next_position(self._live.runs())
        naming = self._ask_within(deadline_s, lambda: self._naming([launch.request for launch in launches]))
        deadline_s = max(deadline_s, time.monotonic() + PER_RUN_S)
        runs = self._collect(make_runs(launches, position, reserving, naming, self._site), deadline_s)
        if len(runs) > 1:
            deadline_s = max(deadline_s, time.monotonic() + PER_RUN_S)
        runs = [run.model_copy(update={"batch_id": batch_id}) for run in runs]
        pairs = zip(runs, launches, strict=True)
        new_runs = (new_supervised_run(run, launch, self._deps, self._site.hosts) for run, launch in pairs)
        supervised_runs = self._collect(new_runs, deadline_s, lambda: _withdraw(runs))
        with self._lock:
            for supervised in supervised_runs:
                self._live.queue.add(supervised)
            self._deps.state_log.save_all(runs, "queued")
        return runs

    def _naming(self, requests: Sequence[LaunchRequest] = ()) -> RunNaming:
        """Return the names and colors of all runs, including unstored ones; check the names of these requests."""
        naming = RunNaming(self._store)
        naming.check_names([requested_name(request.config, request.name) for request in requests])
        for run in (*self._live.runs(), *(supervised.run for supervised in self._live.queue.supervised_runs())):
            naming.add(run)
        return naming

    def _prepare(self, requests: Sequence[LaunchRequest], deadline_s: float) -> list[PreparedLaunch]:
        """Prepare and check the requests, without a lock, since a disk may hang; raises LaunchRefusedError."""
        try:
            wait_s = max(deadline_s - 2 * RESERVE_S - time.monotonic(), RESERVE_S)
            return self._calls.collect(map(prepare_and_check, requests), wait_s, PER_RUN_S)
        except TimeoutError:
            raise LaunchRefusedError(NO_PATHS) from None

    def _pin_path(self, log_path: Path, deadline_s: float) -> Path:
        try:
            return self._calls.call_within(lambda: pin_path(log_path), deadline_s - 2 * RESERVE_S - time.monotonic())
        except TimeoutError:
            raise LaunchRefusedError(NO_LOG.format(log_path)) from None


def _withdraw(runs: Sequence[Run]) -> None:
    """Remove the directories of runs that were never handed to the store."""
    for run in runs:
        shutil.rmtree(str(run.run_dir), ignore_errors=True)
