"""The collection loop for all live runs: it starts, schedules, watches and ends the workers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from collectors.base import Clock, Collector, Sink
from collectors.file_watch import FileWaker
from collectors.worker import Worker
from domain import Run

LOG = logging.getLogger(__name__)
HANG_S = 30.0


class Freshness(NamedTuple):
    """How far the collecting of one run is."""

    run_id: str
    unread_bytes: dict[str, int]  # by collector: how far its file is ahead of what was read
    hanging: list[str]  # the collectors that do not come back


def _freshness(run_id: str, workers: Sequence[Worker], hanging: Collection[Worker]) -> Freshness:
    unread = {worker.collector.name: worker.collector.unread_bytes(run_id) for worker in workers}
    known = {name: size for name, size in unread.items() if size is not None}
    return Freshness(run_id, known, [worker.collector.name for worker in workers if worker in hanging])


class CollectorLoop:
    """Keeps one worker per live run and collector, in step with `live_runs`."""

    def __init__(
        self,
        sink: Sink,
        live_runs: Callable[[], Sequence[Run]],
        collectors: Sequence[Collector],
        clock: Clock | None = None,
        look_every_s: float = 0.5,
    ) -> None:
        """`live_runs` is asked every `look_every_s` seconds; a run that is no longer in it gets its last ticks."""
        self._sink = sink
        self._live_runs = live_runs
        self._collectors = tuple(collectors)
        self._clock = clock or Clock()
        self._look_every_s = look_every_s
        self._workers: dict[str, list[Worker]] = {}
        self._leaving: dict[str, list[Worker]] = {}
        self._finished: set[str] = set()
        self._hanging: set[Worker] = set()
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self._waker = FileWaker()
        self._thread = threading.Thread(target=self._work, name="collect", daemon=True)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def stop(self, timeout_s: float = 5.0) -> list[str]:
        """End all workers without last ticks, for the runs go on; the names of those that did not come back in time."""
        self._stopping.set()
        deadline = self._clock.mono_s() + timeout_s
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        with self._lock:
            workers = [worker for group in (*self._workers.values(), *self._leaving.values()) for worker in group]
            for worker in (worker for group in self._workers.values() for worker in group):
                worker.end(final=False)
        stuck = [
            worker.collector.name for worker in workers if not worker.join(max(deadline - self._clock.mono_s(), 0.0))
        ]
        self._waker.stop()
        return stuck

    def end(self, run: Run) -> None:
        """Have a run's last ticks made (logs and requests to their end, a last scrape), once; returns at once.

        A run that was never seen live, for it failed at once or ended while Pitwall was away, is taken in too.
        """
        with self._lock:
            if run.id in self._finished or run.id in self._leaving:
                return
            workers = self._workers.pop(run.id, None)
            self._leaving[run.id] = workers or self._new_workers(run)
            for worker in self._leaving[run.id]:
                worker.end(run, final=True)
                if workers is None:
                    worker.start()

    def freshness(self) -> list[Freshness]:
        """How far the collecting of each live run is; takes no lock that a hanging collector could hold."""
        groups = {**self._leaving, **self._workers}
        return [_freshness(run_id, workers, self._hanging) for run_id, workers in groups.items()]

    def finish(self, run: Run, timeout_s: float = 30.0) -> bool:
        """`end`, and wait until everything is in the store; False if that takes longer."""
        self.end(run)
        workers = self._leaving.get(run.id, [])
        deadline = self._clock.mono_s() + timeout_s
        done = all(worker.join(max(deadline - self._clock.mono_s(), 0.0)) for worker in workers)
        self._sweep()
        return done

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                self._look(self._live_runs())
            except Exception:  # whoever lists the runs may fail once; those already watched go on
                LOG.exception("the live runs could not be listed")
            self._sweep()
            self._stopping.wait(self._look_every_s)

    def _look(self, runs: Iterable[Run]) -> None:
        live = {run.id: run for run in runs}
        hanging: list[tuple[Worker, float]] = []
        with self._lock:
            for workers in [workers for run_id, workers in self._workers.items() if run_id not in live]:
                self.end(workers[0].run)
            for run in live.values():
                if run.id not in self._finished and run.id not in self._leaving:
                    hanging += self._keep(run)
        for worker, seconds in hanging:  # without the lock: a store that takes nothing would hold it
            worker.report_hang(seconds)

    def _keep(self, run: Run) -> list[tuple[Worker, float]]:
        """Have a run collected; the workers that have begun to hang, with the seconds that they do."""
        if run.id not in self._workers:
            self._workers[run.id] = self._new_workers(run)
            for worker in self._workers[run.id]:
                worker.start()
        for worker in self._workers[run.id]:
            worker.update(run)
        return [(worker, seconds) for worker in self._workers[run.id] if (seconds := self._new_hang_s(worker))]

    def _new_workers(self, run: Run) -> list[Worker]:
        return [Worker(collector, run, self._sink, self._clock, self._waker) for collector in self._collectors]

    def _new_hang_s(self, worker: Worker) -> float | None:
        """How long a worker has hung that was not known to hang; None for the others."""
        since = worker.busy_since
        seconds = 0.0 if since is None else self._clock.mono_s() - since
        if seconds < HANG_S:
            self._hanging.discard(worker)
            return None
        if worker in self._hanging:
            return None
        self._hanging.add(worker)
        return seconds

    def _sweep(self) -> None:
        """Workers that have made their last ticks need no memory."""
        with self._lock:
            for run_id in [r for r, workers in self._leaving.items() if all(worker.join(0.0) for worker in workers)]:
                self._hanging.difference_update(self._leaving.pop(run_id))
                self._finished.add(run_id)
