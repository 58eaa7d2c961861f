"""The supervisor owns the state of all runs; its thread checks each of them a few times a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from domain import TOLD_FACTS, Config, JsonValue, Machine, Run, RunState, WorkloadSpec, new_run_id, utc_now
from launcher.checks.preflight import LaunchRefusedError, LaunchRequest
from launcher.processes.workload_signals import Order, steer
from launcher.remote.hosts import HostBook
from launcher.runs.launching import Site
from launcher.runs.live_runs import LiveRuns
from launcher.runs.making import RunMaker, SilentStoreError
from launcher.runs.provenance import GpusNow, NotAsked
from launcher.runs.recorder import RunRecorder, RunStore
from launcher.runs.recorders import Recorders
from launcher.runs.supervised_runs.attached_run import Watch
from launcher.runs.supervised_runs.dependencies import Dependencies, ExplainFailure
from launcher.runs.supervised_runs.launched_run import LaunchedRun
from launcher.runs.supervised_runs.run_loads import check_can_load
from launcher.runs.ticker import TICK_S, Ticker
from machine.asides import Asides
from machine.identity import machine_id
from redaction import SERVER_API_KEY
from samples import Batch

NO_LONGER_WATCHED = "No longer watched."
CANCELLED = "Cancelled before it started."
SKIPPED = "Skipped: it was stopped so that the queue goes on."
LOAD_CANCELLED = "Its load was cancelled: what it had measured until then is kept."


class Supervisor:
    """Launches, watches, queues and stops runs; every method may be called from any thread.

    Each change of state is handed to the store (`store.queue_runs`) and reported (`events`; a run that is over to
    `ended` too). Do not call it from within these. Who changes a run waits for the store a moment at most, without a
    lock. `prepare_workload(run, directory)` returns the argv of the run's load generator;
    `explain_failure(run, exit_code)` a better cause than the exit code, with the log line that shows it; `gpus()` what
    the driver says now: frozen with each run, and asked at its end whether the memory was let go. `hosts` are the
    machines on which it may launch by ssh; `save_machine(machine)` takes what one of them says that it is.
    """

    def __init__(
        self,
        store: RunStore,
        runs_dir: Path,
        *,
        events: Callable[[Batch], Any],
        ended: Callable[[Run], Any] = lambda run: None,
        clock: Callable[[], datetime] = utc_now,
        mono_s: Callable[[], float] = time.monotonic,
        machine: str | None = None,
        prepare_workload: Callable[[Run, Path], list[str]] | None = None,
        explain_failure: ExplainFailure = lambda run, exit_code: None,
        gpus: Callable[[], GpusNow] = NotAsked,
        stop_grace_s: float = 30.0,
        hosts: HostBook | None = None,
        save_machine: Callable[[Machine], object] = lambda machine: None,
    ) -> None:
        machine = machine or machine_id()
        self._clock = clock
        self._ticker = Ticker(lambda: self.tick(), "supervisor")
        self._pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix="launcher")
        self._deps = Dependencies(
            RunRecorder(store, events, clock, ended),
            mono_s,
            self._pool,
            stop_grace_s,
            prepare_workload,
            explain_failure,
            gpus,
            save_machine,
            Asides("look", 1024),
            self._ticker.wake,
        )
        self._live = LiveRuns(store, self._deps, runs_dir, machine)
        self._queue = self._live.queue
        self._making = threading.RLock()  # of new runs, for which the store is asked; taken before the other
        self._lock = threading.RLock()  # of those that are known: under it nothing waits for the store or for a file
        site = Site(runs_dir, clock, machine, hosts)
        self._maker = RunMaker(store, self._live, self._deps, site, self._making, self._lock)
        self.recorders = Recorders(self._live, self._changing)

    # --- its own life -----------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Begin to tick; call `adopt_all` first."""
        self._ticker.start()

    def adopt_all(self) -> list[Run]:
        """Take back every run of this store that is not over: servers live on, queued runs wait again."""
        with self._lock:
            return self._live.adopt_all()

    def close(self, stop_servers: bool = False) -> None:
        """End the thread; servers live on and are adopted by the next Pitwall, unless they are to be stopped."""
        if self._ticker.is_closing:
            return
        if stop_servers:
            self._stop_all()
        self._ticker.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _stop_all(self) -> None:
        with self._lock:
            for supervised in self._queue.supervised_runs():
                self._cancel(supervised.run.id)
            launched = self._live.launched()
            for supervised in launched:
                supervised.end()
        while any(map(self._live.is_ending, launched)):
            self.tick()
            time.sleep(TICK_S)

    def tick(self) -> None:
        """Look at every live run once, and start what the queue has next."""
        with self._lock:
            self._live.step()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Under the lock; what is changed is waited for when that is let go."""
        with self._lock:
            yield
        self._deps.recorder.settle()

    # --- what pages ask of it ---------------------------------------------------------------------------------------
    def launch(self, request: LaunchRequest) -> Run:
        """Record a run that starts at once; raises LaunchRefusedError."""
        return self._maker.launch([request], in_queue=False, batch_id=None)[0]

    def launch_batch(self, requests: Sequence[LaunchRequest], one_after_the_other: bool) -> list[Run]:
        """Record runs that belong together, all or none; raises LaunchRefusedError.

        One after the other, a run starts when those before it that have one of its GPUs or its port are over: their
        workload ended, or they were stopped.
        """
        return self._maker.launch(requests, one_after_the_other, batch_id=new_run_id(self._clock()))

    def launch_round(self, requests: Sequence[LaunchRequest], batch_id: str) -> list[Run]:
        """Queue one round of a study, one run after the other; raises LaunchRefusedError."""
        return self._maker.launch(requests, in_queue=True, batch_id=batch_id)

    def repeat(self, run_id: str, times: int) -> list[Run]:
        """Queue further repeats of a run that has ended, a server start each; raises LaunchRefusedError."""
        return self._maker.repeat(run_id, times)

    def attach(
        self,
        base_url: str,
        config: Config,
        log_path: Path | None = None,
        pid: int | None = None,
        name: str | None = None,
        unknown: Sequence[str] = (),
    ) -> Run:
        """Watch a running server, see `RunMaker.attach`."""
        return self._maker.attach(base_url, config, log_path, pid, name, unknown)

    def run_at(self, base_url: str) -> Run | None:
        """The live run whose server answers at this URL."""
        return self._live.at(base_url)

    def stop(self, run_id: str) -> Run:
        """Begin to end a run: a launched server is stopped, an attached one only no longer watched."""
        with self._changing():
            run = self._end(run_id) or self._cancel(run_id)
        return run or self._maker.ask(lambda: self._live.stored(run_id))

    def _end(self, run_id: str) -> Run | None:
        supervised = self._live.get(run_id)
        if supervised is None:
            return None
        if isinstance(supervised, Watch):
            supervised.end(NO_LONGER_WATCHED)
        else:
            supervised.end()
        if supervised.run.state.is_final:
            self._live.let_go(run_id)
        self._ticker.wake()
        return supervised.run

    def cancel(self, run_id: str) -> Run:
        """Take a queued run off the queue; a run that has started is left as it is."""
        with self._changing():
            run = self._cancel(run_id)
        return run or self._maker.ask(lambda: self._live.stored(run_id))

    def _cancel(self, run_id: str) -> Run | None:
        supervised = self._queue.take(run_id)
        if supervised is None:
            return None
        update = {"state": RunState.FINISHED, "ended_at": self._clock(), "note": CANCELLED}
        supervised.run = self._deps.recorder.save(supervised.run.model_copy(update=update), CANCELLED)
        return supervised.run

    def start_load(self, run_id: str, spec: WorkloadSpec, secrets: Mapping[str, str] | None = None) -> Run:
        """Put a load on the server of a live run, launched or attached, once more or for the first time.

        `secrets` are given to the load generator in its environment and stored nowhere. Raises LaunchRefusedError.
        """
        with self._changing():
            supervised = self._live.get(run_id)
            if supervised:
                supervised.start_load(spec, secrets or {})
                self._ticker.wake()
        if supervised:
            return supervised.run
        check_can_load(self._maker.ask(lambda: self._live.stored(run_id)))
        raise LaunchRefusedError(NO_LONGER_WATCHED)

    def steer_workload(self, run_id: str, order: Order) -> None:
        """Pause, go on with or cancel the load of a run that has written its progress; nothing if it is over."""
        with self._changing():
            supervised = self._live.get(run_id)
            if supervised and steer(supervised.loads.newest, order):
                note = LOAD_CANCELLED if order is Order.CANCEL else supervised.run.note
                supervised.run = self._deps.recorder.save(
                    supervised.run.model_copy(update={"note": note}), f"{order} the load"
                )

    def rename(self, run_id: str, name: str) -> None:
        """Give a run another name, in whatever state it is; one that is over gets it once the store answers."""
        with self._changing():
            supervised = self._live.find(run_id)
            if supervised:
                supervised.run = self._deps.recorder.keep(supervised.run.model_copy(update={"name": name}))
        if not supervised:
            with suppress(SilentStoreError):  # the question goes on, and with it what comes after
                self._maker.ask(lambda: self._rename_stored(run_id, name))

    def _rename_stored(self, run_id: str, name: str) -> None:
        self._deps.recorder.wait_until_stored()  # or it would be given the state that it had before
        renamed = self._live.stored(run_id).model_copy(update={"name": name})
        with self._changing():
            self._deps.recorder.keep(renamed)

    def set_phase(self, run_id: str, phase: str) -> None:
        """Say what a starting server is doing, as its log reports it; ignored once it is ready."""
        with self._lock:
            supervised = self._live.get(run_id)
            if supervised and supervised.run.state is RunState.STARTING and supervised.run.phase != phase:
                supervised.run = self._deps.recorder.save(supervised.run.model_copy(update={"phase": phase}), phase)

    def note_fact(self, run_id: str, key: str, value: JsonValue) -> None:
        """Keep with a live run what its log says of its start; ignored where a run keeps no such thing."""
        if key not in TOLD_FACTS:
            return
        with self._lock:
            supervised = self._live.get(run_id)
            if supervised and (changed := supervised.run.with_fact(key, value)) is not supervised.run:
                supervised.run = self._deps.recorder.keep(changed)

    def api_key(self, run_id: str) -> str | None:
        """The key that the run's server asks for, as far as Pitwall knows it; for requests only, never to be shown."""
        supervised = self._live.get(run_id)
        return supervised.secrets.get(SERVER_API_KEY) if isinstance(supervised, LaunchedRun) else None

    def live_runs(self) -> list[Run]:
        """The runs that have, or may have, a server now; never waits for the store."""
        return self._live.runs()

    # --- the queue --------------------------------------------------------------------------------------------------
    def queued_runs(self) -> list[Run]:
        """The runs that wait, in the order of their start."""
        return [supervised.run for supervised in self._queue.supervised_runs()]

    @property
    def is_queue_on_hold(self) -> bool:
        return self._queue.is_on_hold

    def hold_queue(self, is_on_hold: bool) -> None:
        """Pause or go on with the queue; what runs already is left alone. Raises OSError when it cannot be kept."""
        self._maker.hold_queue(is_on_hold)
        self._ticker.wake()

    def reorder_queue(self, run_ids: Sequence[str]) -> None:
        """Start the named runs first, in this order; those that do not wait any more are passed over."""
        with self._changing():
            moved = [supervised.run for supervised in self._queue.reorder(run_ids)]
            self._deps.recorder.save_all(moved, "moved in the queue")

    def skip(self, run_id: str) -> Run:
        """End a run of the queue before its workload is through, with what it has measured; the next one starts."""
        with self._changing():
            supervised = self._live.get(run_id)
            if isinstance(supervised, LaunchedRun):
                supervised.end(note=SKIPPED)
                self._ticker.wake()
        if isinstance(supervised, LaunchedRun):
            return supervised.run
        return self._maker.ask(lambda: self._live.stored(run_id))
