"""The supervisor owns the state of all runs; its thread checks each of them a few times a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

from commands.naming import KnownRuns
from domain import TOLD_FACTS, Config, JsonValue, Machine, Run, RunState, WorkloadSpec, new_run_id, utc_now
from launcher.checks.file_patterns import with_files_named
from launcher.checks.preflight import LaunchRefusedError, LaunchRequest, port_of
from launcher.checks.readiness import accepts_connections
from launcher.processes.workload_signals import Order, steer
from launcher.remote.hosts import HostBook
from launcher.runs.launching import Site, make_runs, new_life
from launcher.runs.live_runs import LiveRuns
from launcher.runs.lives.attached_run import Watch
from launcher.runs.lives.dependencies import Dependencies
from launcher.runs.lives.launched_run import LaunchedRun
from launcher.runs.lives.run_loads import check_can_load
from launcher.runs.new_run import attached_run, identity
from launcher.runs.provenance import GpusNow, NotAsked
from launcher.runs.recorder import RunRecorder, RunStore
from launcher.runs.recorders import Recorders
from launcher.runs.rounds import batch_of, repeats_of
from launcher.runs.ticker import TICK_S, Ticker
from machine.identity import machine_at, machine_id
from machine.regular_file import pinned
from redaction import SERVER_API_KEY
from samples import Batch

NO_LONGER_WATCHED = "No longer watched."
CANCELLED = "Cancelled before it started."
SKIPPED = "Skipped: it was stopped so that the queue goes on."
LOAD_CANCELLED = "Its load was cancelled: what it had measured until then is kept."


class Supervisor:
    """Launches, watches, queues and stops runs; every method may be called from any thread.

    Each change of state is saved (`store.save_run`, durable) and reported (`events`). Do not call it from within
    `save_run` or `events`. `prepare_workload(run, directory)` returns the argv of the run's load generator;
    `explain_failure(run)` a better cause than the exit code, with the log line that shows it; `gpus()` what the driver
    says now: frozen with each run, and asked at its end whether the memory was let go. `hosts` are the machines on
    which it may launch by ssh; `save_machine(machine)` takes what one of them says that it is.
    """

    def __init__(
        self,
        store: RunStore,
        runs_dir: Path,
        *,
        events: Callable[[Batch], Any],
        clock: Callable[[], datetime] = utc_now,
        mono_s: Callable[[], float] = time.monotonic,
        machine: str | None = None,
        prepare_workload: Callable[[Run, Path], list[str]] | None = None,
        explain_failure: Callable[[Run], tuple[str, str | None] | None] = lambda run: None,
        gpus: Callable[[], GpusNow] = NotAsked,
        stop_grace_s: float = 30.0,
        hosts: HostBook | None = None,
        save_machine: Callable[[Machine], object] = lambda machine: None,
    ) -> None:
        self._store = store
        self._runs_dir = runs_dir
        self._clock = clock
        self._machine = machine or machine_id()
        self._pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix="launcher")
        recorder = RunRecorder(store, events, clock)
        self._deps = Dependencies(
            recorder, mono_s, self._pool, stop_grace_s, prepare_workload, explain_failure, gpus, save_machine
        )
        self._hosts = hosts
        self._site = Site(runs_dir, clock, self._machine, hosts)
        self._live = LiveRuns(store, self._deps, runs_dir, self._machine)
        self._queue = self._live.queue
        self._making = threading.RLock()  # of new runs, for which the store is asked; taken before the other
        self._lock = threading.RLock()  # of those that are known: under it nothing waits for an answer of the store
        self._ticker = Ticker(lambda: self.tick(), "supervisor")
        self.recorders = Recorders(self._live, self._lock)

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
            for life in self._queue.lives():
                self.cancel(life.run.id)
            launched = self._live.launched()
            for life in launched:
                life.end()
        while any(map(self._live.is_ending, launched)):
            self.tick()
            time.sleep(TICK_S)

    def tick(self) -> None:
        """Look at every live run once, and start what the queue has next."""
        with self._lock:
            self._live.step()

    # --- what pages ask of it ---------------------------------------------------------------------------------------
    def launch(self, request: LaunchRequest) -> Run:
        """Record a run that starts at once; raises LaunchRefusedError."""
        return self._launch_all([request], one_after_the_other=False, batch_id=None)[0]

    def launch_batch(self, requests: Sequence[LaunchRequest], one_after_the_other: bool) -> list[Run]:
        """Record runs that belong together, all or none; raises LaunchRefusedError.

        One after the other, a run starts when those before it that have one of its GPUs or its port are over: their
        workload ended, or they were stopped.
        """
        return self._launch_all(requests, one_after_the_other, batch_id=new_run_id(self._clock()))

    def launch_round(self, requests: Sequence[LaunchRequest], batch_id: str) -> list[Run]:
        """Queue one round of a study, one run after the other; raises LaunchRefusedError."""
        return self._launch_all(requests, one_after_the_other=True, batch_id=batch_id)

    def repeat(self, run_id: str, times: int) -> list[Run]:
        """Queue further repeats of a run that has ended, a server start each; raises LaunchRefusedError."""
        with self._making:
            run = self._live.stored(run_id)
            requests = repeats_of(run, times, self._store.runs_of_batch(batch_of(run)))
            return self._launch_all(requests, one_after_the_other=True, batch_id=batch_of(run))

    def _launch_all(
        self, requests: Sequence[LaunchRequest], one_after_the_other: bool, batch_id: str | None
    ) -> list[Run]:
        requests = [with_files_named(request) for request in requests]
        with self._making:
            with self._lock:
                promised, place = self._live.promised(), None
                if one_after_the_other:
                    promised, place = [], self._queue.next_place(self._live.runs())
            made = make_runs(requests, place, promised, KnownRuns(self._store), self._site)
            made = [run.model_copy(update={"batch_id": batch_id}) for run in made]
            lives = [new_life(run, one, self._deps, self._hosts) for run, one in zip(made, requests, strict=True)]
            with self._lock:
                for life in lives:
                    self._queue.add(life)
                    self._deps.recorder.save(life.run, "queued")
        self._ticker.wake()
        return made

    def attach(
        self,
        base_url: str,
        config: Config,
        log_path: Path | None = None,
        pid: int | None = None,
        name: str | None = None,
    ) -> Run:
        """Watch a running server; the same URL gives the same run. Raises LaunchRefusedError if none answers."""
        base_url = base_url.rstrip("/")
        log_path = pinned(log_path) if log_path else None
        port_of(base_url)
        if not self.run_at(base_url) and not accepts_connections(base_url):
            raise LaunchRefusedError(f"Nothing answers at {base_url}.")
        machine = self._machine if pid is not None else machine_at(base_url, self._machine)
        with self._making:
            if same := self.run_at(base_url):
                return same
            run = attached_run(base_url, config, self._clock(), machine, KnownRuns(self._store), name)
            run = run.model_copy(update={"log_path": str(log_path) if log_path else None, **identity(pid)})
            with self._lock:
                self._live.watch(run)
                return self._deps.recorder.save(run, "attached")

    def run_at(self, base_url: str) -> Run | None:
        """The live run whose server answers at this URL."""
        return self._live.at(base_url)

    def stop(self, run_id: str) -> Run:
        """Begin to end a run: a launched server is stopped, an attached one only no longer watched."""
        with self._lock:
            if life := self._live.get(run_id):
                if isinstance(life, Watch):
                    life.end(NO_LONGER_WATCHED)
                else:
                    life.end()
                if life.run.state.is_final:
                    self._live.let_go(run_id)
                self._ticker.wake()
                return life.run
        return self.cancel(run_id)

    def cancel(self, run_id: str) -> Run:
        """Take a queued run off the queue; a run that has started is left as it is."""
        with self._lock:
            if life := self._queue.take(run_id):
                update = {"state": RunState.FINISHED, "ended_at": self._clock(), "note": CANCELLED}
                life.run = self._deps.recorder.save(life.run.model_copy(update=update), CANCELLED)
                return life.run
        return self._live.stored(run_id)

    def start_load(self, run_id: str, spec: WorkloadSpec, secrets: Mapping[str, str] | None = None) -> Run:
        """Put a load on the server of a live run, launched or attached, once more or for the first time.

        `secrets` are given to the load generator in its environment and stored nowhere. Raises LaunchRefusedError.
        """
        with self._lock:
            if life := self._live.get(run_id):
                life.start_load(spec, secrets or {})
                self._ticker.wake()
                return life.run
        check_can_load(self._live.stored(run_id))
        raise LaunchRefusedError(NO_LONGER_WATCHED)

    def steer_workload(self, run_id: str, order: Order) -> None:
        """Pause, go on with or cancel the load of a run that has written its progress; nothing if it is over."""
        with self._lock:
            life = self._live.get(run_id)
            if life and steer(life.loads.newest, order):
                note = LOAD_CANCELLED if order is Order.CANCEL else life.run.note
                life.run = self._deps.recorder.save(life.run.model_copy(update={"note": note}), f"{order} the load")

    def rename(self, run_id: str, name: str) -> Run:
        """Give a run another name, in whatever state it is."""
        with self._lock:
            if life := self._live.find(run_id):
                life.run = self._deps.recorder.keep(life.run.model_copy(update={"name": name}))
                return life.run
        renamed = self._live.stored(run_id).model_copy(update={"name": name})
        with self._lock:
            return self._deps.recorder.keep(renamed)

    def set_phase(self, run_id: str, phase: str) -> None:
        """Say what a starting server is doing, as its log reports it; ignored once it is ready."""
        with self._lock:
            life = self._live.get(run_id)
            if life and life.run.state is RunState.STARTING and life.run.phase != phase:
                life.run = self._deps.recorder.save(life.run.model_copy(update={"phase": phase}), phase)

    def note_fact(self, run_id: str, key: str, value: JsonValue) -> None:
        """Keep with a live run what its log says of its start; ignored where a run keeps no such thing."""
        if key not in TOLD_FACTS:
            return
        with self._lock:
            life = self._live.get(run_id)
            if life and (changed := life.run.with_fact(key, value)) is not life.run:
                life.run = self._deps.recorder.keep(changed)

    def api_key(self, run_id: str) -> str | None:
        """The key that the run's server asks for, as far as Pitwall knows it; for requests only, never to be shown."""
        life = self._live.get(run_id)
        return life.secrets.get(SERVER_API_KEY) if isinstance(life, LaunchedRun) else None

    def live_runs(self) -> list[Run]:
        """The runs that have, or may have, a server now; never waits for the store."""
        return self._live.runs()

    # --- the queue --------------------------------------------------------------------------------------------------
    def queued_runs(self) -> list[Run]:
        """The runs that wait, in the order of their start."""
        return [life.run for life in self._queue.lives()]

    @property
    def is_queue_on_hold(self) -> bool:
        return self._queue.is_on_hold

    def hold_queue(self, is_on_hold: bool) -> None:
        """Pause or go on with the queue; what runs already is left alone. Raises OSError when it cannot be kept."""
        with self._lock:
            self._queue.hold(is_on_hold)
        self._ticker.wake()

    def reorder_queue(self, run_ids: Sequence[str]) -> None:
        """Start the named runs first, in this order; those that do not wait any more are passed over."""
        with self._lock:
            for life in self._queue.reorder(run_ids):
                self._deps.recorder.save(life.run, "moved in the queue")

    def skip(self, run_id: str) -> Run:
        """End a run of the queue before its workload is through, with what it has measured; the next one starts."""
        with self._lock:
            if isinstance(life := self._live.get(run_id), LaunchedRun):
                life.end(note=SKIPPED)
                self._ticker.wake()
                return life.run
        return self._live.stored(run_id)
