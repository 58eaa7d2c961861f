"""Collection loop for all live runs: starts, monitors and ends the workers."""

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
    """Progress of the collectors of one run."""

    run_id: str
    unread_bytes: dict[str, int]  # by collector, of its file
    hanging: list[str]  # collectors whose tick does not return


def _freshness(run_id: str, workers: Sequence[Worker], hanging: Collection[Worker]) -> Freshness:
    unread = {worker.collector.name: worker.collector.unread_bytes(run_id) for worker in workers}
    unread_by_collector = {name: size for name, size in unread.items() if size is not None}
    return Freshness(run_id, unread_by_collector, [worker.collector.name for worker in workers if worker in hanging])


class CollectorLoop:
    """Keeps one worker per live run and collector, in step with `live_runs`."""

    def __init__(
        self,
        sink: Sink,
        live_runs: Callable[[], Sequence[Run]],
        collectors: Sequence[Collector],
        clock: Clock | None = None,
        update_every_s: float = 0.5,
    ) -> None:
        """`live_runs` is called every `update_every_s` seconds; a run that it no longer lists gets its last ticks."""
        self._sink = sink
        self._live_runs = live_runs
        self._collectors = tuple(collectors)
        self._clock = clock or Clock()
        self._look_every_s = update_every_s
        self._workers: dict[str, list[Worker]] = {}
        self._leaving: dict[str, list[Worker]] = {}
        self._finished: set[str] = set()
        self._hanging: set[Worker] = set()
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self._waker = FileWaker()
        self._thread = threading.Thread(target=self._work, name="collect", daemon=True)

    def start(self) -> None:
        """Start the loop's thread; returns at once."""
        self._thread.start()

    def stop(self, timeout_s: float = 5.0) -> list[str]:
        """End all workers without last ticks, since the runs continue; returns the collectors still running."""
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
        """Start a run's last ticks (logs and requests to their end, a last scrape), once; returns at once.

        This includes a run that was never seen live because it failed at once or ended while Pitwall was not running.
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

    def next_samples(self, run_id: str) -> Callable[[], bool] | None:
        """Return a function that says whether all of a live run's collectors have collected once more since this call.

        Those that fail or hang are not waited for. None: the run has no collectors yet, as after a restart of Pitwall.
        """
        with self._lock:
            ticks = [(worker, worker.next_tick()) for worker in self._workers.get(run_id, ())]
        if not ticks:
            return None
        return lambda: all(has_ticked() or worker in self._hanging for worker, has_ticked in ticks)

    def freshness(self) -> list[Freshness]:
        """Return the progress of each live run; takes no lock that a hanging collector could hold."""
        groups = {**self._leaving, **self._workers}
        return [_freshness(run_id, workers, self._hanging) for run_id, workers in groups.items()]

    def finish(self, run: Run, timeout_s: float = 30.0) -> bool:
        """Call `end` and wait until everything is stored; returns False after the timeout."""
        self.end(run)
        workers = self._leaving.get(run.id, [])
        deadline = self._clock.mono_s() + timeout_s
        have_all_ended = all(worker.join(max(deadline - self._clock.mono_s(), 0.0)) for worker in workers)
        self._sweep()
        return have_all_ended

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                self._update_workers(self._live_runs())
            except Exception:  # listing the runs may fail once; existing workers continue
                LOG.exception("the live runs could not be listed")
            self._sweep()
            self._stopping.wait(self._look_every_s)

    def _update_workers(self, runs: Iterable[Run]) -> None:
        live = {run.id: run for run in runs}
        hanging: list[tuple[Worker, float]] = []
        with self._lock:
            for workers in [workers for run_id, workers in self._workers.items() if run_id not in live]:
                self.end(workers[0].run)
            for run in live.values():
                if run.id not in self._finished and run.id not in self._leaving:
                    hanging += self._collect_run(run)
        for worker, seconds in hanging:  # without the lock: a blocked store would hold it
            worker.report_hang(seconds)

    def _collect_run(self, run: Run) -> list[tuple[Worker, float]]:
        """Start or update a run's workers; returns those that have begun to hang, with their seconds."""
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
        """Return the seconds of a hang that was not reported yet; None otherwise."""
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
        """Drop the workers that have made their last ticks."""
        with self._lock:
            for run_id in [r for r, workers in self._leaving.items() if all(worker.join(0.0) for worker in workers)]:
                self._hanging.difference_update(self._leaving.pop(run_id))
                self._finished.add(run_id)
