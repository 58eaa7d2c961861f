"""Runs one collector for one run in a thread of its own: one that fails or hangs does not stop the others."""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait

from collectors.base import Clock, Collector, CollectorError, OutageError, Sink, UnavailableError
from collectors.file_watch import FileWaker
from collectors.plausible import without_impossible
from domain import JsonValue, Run, RunState
from samples import Batch, CollectorHealth, Event

LOG = logging.getLogger(__name__)
HEALTH_EVERY_S = 60.0
UNAVAILABLE_RETRY_S = 60.0
COMMIT_WAIT_S = 10.0
MOST_UNCOMMITTED = 16  # batches: of a log 4 MiB, some 1,500 rows
LOOK_S = 0.5


class Worker:
    """Runs `collect` every period until it is ended, then `finish`; reports health and troubles as they change."""

    def __init__(
        self, collector: Collector, run: Run, sink: Sink, clock: Clock, waker: FileWaker | None = None
    ) -> None:
        """`waker` wakes it when its files come or go."""
        self.collector = collector
        self._waker = waker
        self.busy_since: float | None = None
        self.run = run
        self._sink = sink
        self._clock = clock
        self._wake = threading.Event()
        self._ending = threading.Event()
        self._final = False
        self._last_commit: Future[None] | None = None
        self._uncommitted: deque[Future[None]] = deque()
        self._refusal: BaseException | None = None
        self._trouble: Exception | None = None
        self._trouble_since = 0.0
        self._reported_at: float | None = None
        self._left_out: Counter[tuple[str, str]] = Counter()  # numbers that cannot be, by name and reason
        self._thread = threading.Thread(target=self._work, name=f"collect-{collector.name}-{run.id}", daemon=True)

    def start(self) -> None:
        """Begin to collect in a thread of its own; the first tick comes at once."""
        self._thread.start()

    def update(self, run: Run) -> None:
        """The run as it is now; one that had nothing to collect is looked at again when it has changed."""
        changed, self.run = run != self.run, run
        if changed and isinstance(self._trouble, UnavailableError):
            self.wake()

    def wake(self) -> None:
        """Bring the next tick forward."""
        self._wake.set()

    def end(self, run: Run | None = None, *, final: bool) -> None:
        """Ask the worker to end: after its last tick (`final`), or as it is because Pitwall stops."""
        self.run = run or self.run
        self._final = final
        self._ending.set()
        self._wake.set()

    def join(self, timeout_s: float) -> bool:
        """Whether it has ended within this time."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def report_hang(self, seconds: float) -> None:
        """Say that the tick in progress does not come back."""
        self._note(CollectorError(f"{self.collector.name}: no answer for {seconds:.0f} s"), seconds)

    def _work(self) -> None:
        due = self._clock.mono_s()
        while not self._ending.is_set():
            self._tick(self.collector.collect)
            if self._waker:
                self._waker.follow(self, self.collector.paths(self.run))
            rest = UNAVAILABLE_RETRY_S if isinstance(self._trouble, UnavailableError) else self.collector.period_s
            now = self._clock.mono_s()
            due = max(min(due, now) + rest, now)
            self._wake.wait(max(due - now, 0.0))
            self._wake.clear()
        if self._waker:
            self._waker.drop(self)
        if self._final:
            self._tick(self.collector.finish, last=True)
        self._await_commits()
        self.collector.forget(self.run.id)

    def _tick(self, take: Callable[[Run], Iterable[Batch]], *, last: bool = False) -> None:
        began = self.busy_since = self._clock.mono_s()
        trouble: Exception | None = None
        try:
            for batch in take(self.run):
                self._give(batch)
                self.busy_since = self._clock.mono_s()  # what goes on for long, as a log of gigabytes, does not hang
                if self._ending.is_set() and not last:
                    break
        except Exception as problem:  # the one place where anything may go wrong and the rest goes on
            trouble = problem
        self.busy_since = None
        if trouble is not None or not (last or self._is_over_for_good()):
            self._note(trouble, self._clock.mono_s() - began)

    def _is_over_for_good(self) -> bool:
        """Whether silence is no news: a server that is being stopped while it was away did not come back."""
        is_ending = self.run.state is RunState.STOPPING or self.run.state.is_final
        return is_ending and isinstance(self._trouble, OutageError)

    def _give(self, batch: Batch) -> None:
        """To the store; when it refuses one, the collector starts again from what the store has.

        It is never far behind: who gives more than it takes waits, not those who give a row a second.
        """
        if self._refusal is None and (batch.samples or batch.positions):
            try:
                self._watch_commit(self._sink(self._sifted(batch)))
            except Exception as problem:  # whatever ails the store, this batch is not in it
                self._refusal = problem
        if self._refusal is not None:
            refusal = self._refusal
            self._await_commits()
            self._refusal = None
            self.collector.forget(self.run.id)
            raise CollectorError(f"the store did not take a batch: {refusal}") from refusal

    def _sifted(self, batch: Batch) -> Batch:
        """Without numbers that cannot be; each kind of them is reported once and counted in the health."""
        kept, refused = without_impossible(batch)
        new = sorted(refused - self._left_out.keys())
        self._left_out.update(refused)
        if not new:
            return kept
        self._reported_at = None
        named = "; ".join(f"{name} is {why}" for name, why in new)
        data: dict[str, JsonValue] = {"collector": self.collector.name}
        event = Event(self.run.id, self._clock.utc(), "collector", f"left out as it cannot be: {named}", data=data)
        return Batch((*kept.samples, event), kept.positions)

    def _watch_commit(self, commit: Future[None] | None) -> None:
        self._last_commit = commit
        if commit is not None:
            commit.add_done_callback(self._see_commit)
            self._uncommitted.append(commit)
        while len(self._uncommitted) > MOST_UNCOMMITTED and not self._ending.is_set():
            wait([self._uncommitted[0]], LOOK_S)
            while self._uncommitted and self._uncommitted[0].done():
                self._uncommitted.popleft()

    def _see_commit(self, commit: Future[None]) -> None:
        if not commit.cancelled() and commit.exception() is not None:
            self._refusal = commit.exception()

    def _await_commits(self) -> None:
        """The store commits in order: with the last batch all are decided."""
        if self._last_commit is not None:
            wait([self._last_commit], COMMIT_WAIT_S)

    def _note(self, trouble: Exception | None, duration_s: float) -> None:
        """Health on a change and once a minute, an event on a change."""
        changed = _words(trouble) != _words(self._trouble)
        now = self._clock.mono_s()
        if not changed and self._reported_at is not None and now - self._reported_at < HEALTH_EVERY_S:
            return
        samples: list[Event | CollectorHealth] = [self._health(trouble, duration_s)]
        if changed:
            samples += self._event(trouble, now)
            self._trouble, self._trouble_since = trouble, now - duration_s
        self._reported_at = now
        self._report(Batch(samples=tuple(samples)))

    def _report(self, batch: Batch) -> None:
        try:
            self._sink(batch)
        except Exception:  # a store that takes nothing cannot record it; the log can
            LOG.exception("%s of %s could not tell its health", self.collector.name, self.run.id)

    def _health(self, trouble: Exception | None, duration_s: float) -> CollectorHealth:
        return CollectorHealth(
            run_id=self.run.id,
            ts=self._clock.utc(),
            collector=self.collector.name,
            ok=trouble is None,
            duration_ms=duration_s * 1000,
            error=_words(trouble) or self._words_of_left_out(),
        )

    def _words_of_left_out(self) -> str | None:
        """How often numbers that cannot be have come, of a collector that goes on without them."""
        counts = (f"{name} {why}, {count:,} times" for (name, why), count in sorted(self._left_out.items()))
        return f"left out as they cannot be: {'; '.join(counts)}" if self._left_out else None

    def _event(self, trouble: Exception | None, now: float) -> list[Event]:
        was = self._trouble
        if trouble is None and (was is None or isinstance(was, UnavailableError)):
            return []
        data: dict[str, object] = {"collector": self.collector.name}
        if trouble is None:
            seconds = round(now - self._trouble_since, 1)
            kind, text = _kind(was), f"{self.collector.name} answers again after {seconds:g} s"
            data["gap_s"] = seconds
        else:
            kind, text = _kind(trouble), _words(trouble) or ""
        if trouble is not None and not isinstance(trouble, CollectorError):
            LOG.error("%s of %s failed", self.collector.name, self.run.id, exc_info=trouble)
        return [Event(run_id=self.run.id, ts=self._clock.utc(), kind=kind, text=text, data=data)]


def _words(trouble: Exception | None) -> str | None:
    """A trouble in its own words, a bug by its type alone: its message may differ every second."""
    if trouble is None or isinstance(trouble, CollectorError):
        return None if trouble is None else str(trouble)
    return f"a bug in Pitwall ({type(trouble).__name__}); its traceback is in Pitwall's own log"


def _kind(trouble: Exception | None) -> str:
    return trouble.event_kind if isinstance(trouble, CollectorError) else CollectorError.event_kind
