"""Runs one collector for one run in its own thread, so that a failing or hanging one does not stop the others."""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait

from collectors.base import Clock, Collector, CollectorError, OutageError, Sink, UnavailableError
from collectors.file_watch import FileWaker
from collectors.value_limits import without_impossible
from domain import JsonValue, Run, RunState
from samples import Batch, CollectorHealth, Event

LOG = logging.getLogger(__name__)
HEALTH_EVERY_S = 60.0
UNAVAILABLE_RETRY_S = 60.0
COMMIT_WAIT_S = 10.0
MAX_UNCOMMITTED = 16  # batches: of a log 4 MiB, some 1,500 rows
COMMIT_POLL_S = 0.5


class Worker:
    """Runs `collect` every period until ended, then `finish`; reports health and changes of its error."""

    def __init__(
        self, collector: Collector, run: Run, sink: Sink, clock: Clock, waker: FileWaker | None = None
    ) -> None:
        """`waker` wakes it when its files are created or deleted."""
        self.collector = collector
        self._waker = waker
        self.busy_since: float | None = None
        self._started_ticks = 0
        self._newest_complete_tick = 0  # its number, from 1
        self.run = run
        self._sink = sink
        self._clock = clock
        self._wake = threading.Event()
        self._ending = threading.Event()
        self._final = False
        self._last_commit: Future[None] | None = None
        self._uncommitted: deque[Future[None]] = deque()
        self._store_error: BaseException | None = None
        self._trouble: Exception | None = None
        self._trouble_since = 0.0
        self._reported_at: float | None = None
        self._rejected_values: Counter[tuple[str, str]] = Counter()  # by field name and reason
        self._thread = threading.Thread(target=self._work, name=f"collect-{collector.name}-{run.id}", daemon=True)

    def start(self) -> None:
        """Start the worker's thread; the first tick follows at once."""
        self._thread.start()

    def update(self, run: Run) -> None:
        """Set the run's current state; a collector that was unavailable is tried again if the run has changed."""
        has_changed, self.run = run != self.run, run
        if has_changed and isinstance(self._trouble, UnavailableError):
            self.wake()

    def next_tick(self) -> Callable[[], bool]:
        """Return a function that says whether a tick has begun after this call and ended; of a failing worker, True."""
        earlier_ticks = self._started_ticks
        return lambda: self._newest_complete_tick > earlier_ticks or self._trouble is not None

    def wake(self) -> None:
        """Trigger the next tick now."""
        self._wake.set()

    def end(self, run: Run | None = None, *, final: bool) -> None:
        """Ask the worker to end: after a last tick (`final`), or without one because Pitwall stops."""
        self.run = run or self.run
        self._final = final
        self._ending.set()
        self._wake.set()

    def join(self, timeout_s: float) -> bool:
        """Wait for the thread; returns whether it ended in time."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def report_hang(self, seconds: float) -> None:
        """Record that the tick in progress does not return."""
        self._record_health(CollectorError(f"{self.collector.name}: no answer for {seconds:.0f} s"), seconds)

    def _work(self) -> None:
        due = self._clock.mono_s()
        while not self._ending.is_set():
            self._tick(self.collector.collect)
            if self._waker:
                self._waker.follow(self, self.collector.paths(self.run))
            wait_s = UNAVAILABLE_RETRY_S if isinstance(self._trouble, UnavailableError) else self.collector.period_s
            now = self._clock.mono_s()
            due = max(min(due, now) + wait_s, now)
            self._wake.wait(max(due - now, 0.0))
            self._wake.clear()
        if self._waker:
            self._waker.drop(self)
        if self._final:
            self._tick(self.collector.finish, is_last=True)
        self._await_commits()
        self.collector.forget(self.run.id)

    def _tick(self, collect: Callable[[Run], Iterable[Batch]], *, is_last: bool = False) -> None:
        began = self.busy_since = self._clock.mono_s()
        self._started_ticks += 1
        trouble: Exception | None = None
        try:
            for batch in collect(self.run):
                self._store(batch)
                self.busy_since = self._clock.mono_s()  # slow progress, as through a huge log, is not a hang
                if self._ending.is_set() and not is_last:
                    break
        except Exception as problem:  # any failure of a collector ends its tick only
            trouble = problem
        self.busy_since = None
        self._newest_complete_tick = self._started_ticks
        if trouble is not None or not (is_last or self._is_expected_outage()):
            self._record_health(trouble, self._clock.mono_s() - began)

    def _is_expected_outage(self) -> bool:
        """Return whether an outage is expected: the server is stopping and was already unreachable."""
        is_ending = self.run.state is RunState.STOPPING or self.run.state.is_final
        return is_ending and isinstance(self._trouble, OutageError)

    def _store(self, batch: Batch) -> None:
        """Send a batch to the store; if the store rejects one, the collector starts again from what the store has.

        A collector that produces faster than the store commits waits here; one with a row per second never does.
        """
        if self._store_error is None and (batch.samples or batch.positions):
            try:
                self._track_commit(self._sink(self._reject_impossible(batch)))
            except Exception as problem:  # whatever the error, this batch is not stored
                self._store_error = problem
        if self._store_error is not None:
            store_error = self._store_error
            self._await_commits()
            self._store_error = None
            self.collector.forget(self.run.id)
            raise CollectorError(f"the store rejected a batch: {store_error}") from store_error

    def _reject_impossible(self, batch: Batch) -> Batch:
        """Remove impossible values; each kind is reported once as an event and counted in the health."""
        accepted, refused = without_impossible(batch)
        new_refusals = sorted(refused - self._rejected_values.keys())
        self._rejected_values.update(refused)
        if not new_refusals:
            return accepted
        self._reported_at = None
        descriptions = "; ".join(f"{name} is {reason}" for name, reason in new_refusals)
        data: dict[str, JsonValue] = {"collector": self.collector.name}
        event = Event(
            self.run.id, self._clock.utc(), "collector", f"impossible value left out: {descriptions}", data=data
        )
        return Batch((*accepted.samples, event), accepted.positions)

    def _track_commit(self, commit: Future[None] | None) -> None:
        self._last_commit = commit
        if commit is not None:
            commit.add_done_callback(self._check_commit)
            self._uncommitted.append(commit)
        while len(self._uncommitted) > MAX_UNCOMMITTED and not self._ending.is_set():
            wait([self._uncommitted[0]], COMMIT_POLL_S)
            while self._uncommitted and self._uncommitted[0].done():
                self._uncommitted.popleft()

    def _check_commit(self, commit: Future[None]) -> None:
        if not commit.cancelled() and commit.exception() is not None:
            self._store_error = commit.exception()

    def _await_commits(self) -> None:
        """Wait for the last commit; the store commits in order, so all earlier ones are complete then."""
        if self._last_commit is not None:
            wait([self._last_commit], COMMIT_WAIT_S)

    def _record_health(self, trouble: Exception | None, duration_s: float) -> None:
        """Report health on a change and once a minute, and an event on a change."""
        has_changed = _error_text(trouble) != _error_text(self._trouble)
        now = self._clock.mono_s()
        if not has_changed and self._reported_at is not None and now - self._reported_at < HEALTH_EVERY_S:
            return
        samples: list[Event | CollectorHealth] = [self._health(trouble, duration_s)]
        if has_changed:
            samples += self._change_events(trouble, now)
            self._trouble, self._trouble_since = trouble, now - duration_s
        self._reported_at = now
        self._report(Batch(samples=tuple(samples)))

    def _report(self, batch: Batch) -> None:
        try:
            self._sink(batch)
        except Exception:  # a failing store cannot record it; the log can
            LOG.exception("%s of %s could not report its health", self.collector.name, self.run.id)

    def _health(self, trouble: Exception | None, duration_s: float) -> CollectorHealth:
        return CollectorHealth(
            run_id=self.run.id,
            ts=self._clock.utc(),
            collector=self.collector.name,
            ok=trouble is None,
            duration_ms=duration_s * 1000,
            error=_error_text(trouble) or self._rejected_values_text(),
        )

    def _rejected_values_text(self) -> str | None:
        """Return how often impossible values were left out; None if never."""
        counts = (
            f"{name} {reason}, {count:,} times" for (name, reason), count in sorted(self._rejected_values.items())
        )
        return f"impossible values left out: {'; '.join(counts)}" if self._rejected_values else None

    def _change_events(self, trouble: Exception | None, now: float) -> list[Event]:
        previous = self._trouble
        if trouble is None and (previous is None or isinstance(previous, UnavailableError)):
            return []
        data: dict[str, object] = {"collector": self.collector.name}
        if trouble is None:
            seconds = round(now - self._trouble_since, 1)
            kind, text = _event_kind(previous), f"{self.collector.name} answers again after {seconds:g} s"
            data["gap_s"] = seconds
        else:
            kind, text = _event_kind(trouble), _error_text(trouble) or ""
        if trouble is not None and not isinstance(trouble, CollectorError):
            LOG.error("%s of %s failed", self.collector.name, self.run.id, exc_info=trouble)
        return [Event(run_id=self.run.id, ts=self._clock.utc(), kind=kind, text=text, data=data)]


def _error_text(trouble: Exception | None) -> str | None:
    """Return a collector's error message; of a bug only the type, since its message may differ every second."""
    if trouble is None or isinstance(trouble, CollectorError):
        return None if trouble is None else str(trouble)
    return f"a bug in Pitwall ({type(trouble).__name__}); its traceback is in Pitwall's own log"


def _event_kind(trouble: Exception | None) -> str:
    return trouble.event_kind if isinstance(trouble, CollectorError) else CollectorError.event_kind
