"""The supervisor owns the state of all runs; its thread checks each of them a few times per second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from domain import STARTUP_FACTS, Config, JsonValue, Machine, Run, RunState, WorkloadSpec, new_run_id, utc_now
from launcher.checks.launch_request import LaunchRefusedError, LaunchRequest
from launcher.checks.provenance import GpuSnapshot, UnreadGpus
from launcher.processes.workload_signals import LoadSignal, signal_load
from launcher.remote.hosts import HostBook
from launcher.runs.launching import LaunchSite
from launcher.runs.live_runs import LiveRunRegistry
from launcher.runs.queue import QueueWait
from launcher.runs.recorders import RequestRecorders
from launcher.runs.run_factory import RunFactory, SilentStoreError
from launcher.runs.state_log import RunStateStore, StateLog
from launcher.runs.supervised_runs.attached_run import AttachedRun
from launcher.runs.supervised_runs.dependencies import Dependencies, ExplainFailure, NextSamples
from launcher.runs.supervised_runs.launched_run import LaunchedRun
from launcher.runs.supervised_runs.run_loads import check_can_load
from launcher.runs.ticker import TICK_S, Ticker
from machine.detached_calls import DetachedCalls
from machine.identity import machine_id
from redaction import SERVER_API_KEY
from samples import Batch

NO_LONGER_WATCHED = "No longer watched."
CANCELLED = "Cancelled before it started."
SKIPPED = "Skipped: it was stopped so that the queue continues."
LOAD_CANCELLED = "Its load was cancelled: its measurements up to then are kept."


class Supervisor:
    """Launches, watches, queues and stops runs; every method may be called from any thread.

    Each state change is handed to the store (`store.queue_runs`) and to `events`, an ended run also to `ended`; these
    must not call the supervisor. A caller that changes a run waits briefly for the store, without a lock.
    `prepare_workload(run, directory)` returns the argv of the run's load generator; `explain_failure(run, exit_code)` a
    better cause than the exit code, with the log line that shows it; `gpus()` the driver's current state, recorded with
    each run, and read at its end to check that memory was released. `hosts` are the machines for launches over ssh;
    `save_machine(machine)` stores the description that one of them sends. `next_samples(run_id)` begins to wait for
    the run's next samples, after which a server is stopped at the end of its last load.
    """

    def __init__(
        self,
        store: RunStateStore,
        runs_dir: Path,
        *,
        events: Callable[[Batch], Any],
        ended: Callable[[Run], Any] = lambda run: None,
        clock: Callable[[], datetime] = utc_now,
        mono_s: Callable[[], float] = time.monotonic,
        machine: str | None = None,
        prepare_workload: Callable[[Run, Path], list[str]] | None = None,
        explain_failure: ExplainFailure = lambda run, exit_code: None,
        gpus: Callable[[], GpuSnapshot] = UnreadGpus,
        stop_grace_s: float = 30.0,
        hosts: HostBook | None = None,
        save_machine: Callable[[Machine], object] = lambda machine: None,
        next_samples: NextSamples = lambda run_id: lambda: True,
    ) -> None:
        machine = machine or machine_id()
        self._clock = clock
        self._ticker = Ticker(lambda: self.tick(), "supervisor")
        self._pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix="launcher")
        self._deps = Dependencies(
            StateLog(store, events, clock, ended),
            mono_s,
            self._pool,
            stop_grace_s,
            prepare_workload,
            explain_failure,
            gpus,
            save_machine,
            DetachedCalls("look", 1024),
            self._ticker.wake,
            next_samples,
        )
        self._live = LiveRunRegistry(store, self._deps, runs_dir, machine)
        self._queue = self._live.queue
        self._factory_lock = threading.RLock()  # for new runs, which query the store; acquired before the other lock
        self._lock = threading.RLock()  # for known runs; nothing waits for the store or for a file under it
        site = LaunchSite(runs_dir, clock, machine, hosts)
        self._factory = RunFactory(store, self._live, self._deps, site, self._factory_lock, self._lock)
        self.request_recorders = RequestRecorders(self._live, self._change_lock)

    # --- lifecycle --------------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Start the thread; call `adopt_all` first."""
        self._ticker.start()

    def adopt_all(self) -> list[Run]:
        """Adopt every run of this store that has not ended: servers continue, queued runs wait again."""
        with self._lock:
            return self._live.adopt_all()

    def close(self, stop_servers: bool = False) -> None:
        """End the thread; servers continue and are adopted by the next Pitwall, unless `stop_servers`."""
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
        """Check every live run once, and start due runs of the queue."""
        with self._lock:
            self._live.step()

    @contextmanager
    def _change_lock(self) -> Iterator[None]:
        """Hold the lock; after its release wait briefly until the changes are stored."""
        with self._lock:
            yield
        self._deps.state_log.wait_briefly()

    # --- runs -------------------------------------------------------------------------------------------------------
    def launch(self, request: LaunchRequest) -> Run:
        """Record a run that starts immediately; raises LaunchRefusedError."""
        return self._factory.launch([request], in_queue=False, batch_id=None)[0]

    def launch_batch(self, requests: Sequence[LaunchRequest], one_after_the_other: bool) -> list[Run]:
        """Record runs that belong together, all or none; raises LaunchRefusedError.

        With `one_after_the_other`, a run starts when all earlier ones that use one of its GPUs or its port have ended:
        their workload ended, or they were stopped.
        """
        return self._factory.launch(requests, one_after_the_other, batch_id=new_run_id(self._clock()))

    def launch_round(self, requests: Sequence[LaunchRequest], batch_id: str) -> list[Run]:
        """Queue one round of a study, one run after another; raises LaunchRefusedError."""
        return self._factory.launch(requests, in_queue=True, batch_id=batch_id)

    def repeat(self, run_id: str, times: int) -> list[Run]:
        """Queue further repeats of an ended run, one server start each; raises LaunchRefusedError."""
        return self._factory.repeat(run_id, times)

    def attach(
        self,
        base_url: str,
        config: Config,
        log_path: Path | None = None,
        pid: int | None = None,
        name: str | None = None,
        unknown: Sequence[str] = (),
    ) -> Run:
        """Watch a running server, see `RunFactory.attach`."""
        return self._factory.attach(base_url, config, log_path, pid, name, unknown)

    def run_at(self, base_url: str) -> Run | None:
        """Return the live run whose server answers at this URL."""
        return self._live.find_at_url(base_url)

    def stop(self, run_id: str) -> Run:
        """Begin to end a run: a launched server is stopped, an attached one is only no longer watched."""
        with self._change_lock():
            run = self._end(run_id) or self._cancel(run_id)
        return run or self._factory.ask(lambda: self._live.read_stored(run_id))

    def _end(self, run_id: str) -> Run | None:
        supervised = self._live.get(run_id)
        if supervised is None:
            return None
        if isinstance(supervised, AttachedRun):
            supervised.end(NO_LONGER_WATCHED)
        else:
            supervised.end()
        if supervised.run.state.is_final:
            self._live.forget(run_id)
        self._ticker.wake()
        return supervised.run

    def cancel(self, run_id: str) -> Run:
        """Remove a queued run from the queue; a started run is not changed."""
        with self._change_lock():
            run = self._cancel(run_id)
        return run or self._factory.ask(lambda: self._live.read_stored(run_id))

    def _cancel(self, run_id: str) -> Run | None:
        supervised = self._queue.take(run_id)
        if supervised is None:
            return None
        update = {"state": RunState.FINISHED, "ended_at": self._clock(), "note": CANCELLED}
        supervised.run = self._deps.state_log.save(supervised.run.model_copy(update=update), CANCELLED)
        return supervised.run

    def start_load(self, run_id: str, spec: WorkloadSpec, secrets: Mapping[str, str] | None = None) -> Run:
        """Start a load on the server of a live run, launched or attached.

        `secrets` go into the load generator's environment and are never stored. Raises LaunchRefusedError.
        """
        with self._change_lock():
            supervised = self._live.get(run_id)
            if supervised:
                supervised.start_load(spec, secrets or {})
                self._ticker.wake()
        if supervised:
            return supervised.run
        check_can_load(self._factory.ask(lambda: self._live.read_stored(run_id)))
        raise LaunchRefusedError(NO_LONGER_WATCHED)

    def steer_workload(self, run_id: str, load_signal: LoadSignal) -> None:
        """Pause, resume or cancel the load of a run that has written its progress; no effect if it has ended."""
        with self._change_lock():
            supervised = self._live.get(run_id)
            if supervised and signal_load(supervised.loads.newest, load_signal):
                note = LOAD_CANCELLED if load_signal is LoadSignal.CANCEL else supervised.run.note
                supervised.run = self._deps.state_log.save(
                    supervised.run.model_copy(update={"note": note}), f"{load_signal} the load"
                )

    def rename(self, run_id: str, name: str) -> None:
        """Rename a run in any state; an ended run is renamed once the store answers."""
        with self._change_lock():
            supervised = self._live.find(run_id)
            if supervised:
                supervised.run = self._deps.state_log.keep(supervised.run.model_copy(update={"name": name}))
        if not supervised:
            with suppress(SilentStoreError):  # the call continues in the background
                self._factory.ask(lambda: self._rename_stored(run_id, name))

    def _rename_stored(self, run_id: str, name: str) -> None:
        self._deps.state_log.wait_until_stored()  # otherwise an older state would be written back
        renamed = self._live.read_stored(run_id).model_copy(update={"name": name})
        with self._change_lock():
            self._deps.state_log.keep(renamed)

    def set_phase(self, run_id: str, phase: str) -> None:
        """Set what a starting server is doing, as its log reports it; ignored once it is ready."""
        with self._lock:
            supervised = self._live.get(run_id)
            if supervised and supervised.run.state is RunState.STARTING and supervised.run.phase != phase:
                supervised.run = self._deps.state_log.save(supervised.run.model_copy(update={"phase": phase}), phase)

    def note_fact(self, run_id: str, key: str, value: JsonValue) -> None:
        """Store a start-up fact from the log with a live run; other keys are ignored."""
        if key not in STARTUP_FACTS:
            return
        with self._lock:
            supervised = self._live.get(run_id)
            if supervised and (changed := supervised.run.with_fact(key, value)) is not supervised.run:
                supervised.run = self._deps.state_log.keep(changed)

    def api_key(self, run_id: str) -> str | None:
        """Return the API key of the run's server, if Pitwall knows it; for requests only, never for display."""
        supervised = self._live.get(run_id)
        return supervised.secrets.get(SERVER_API_KEY) if isinstance(supervised, LaunchedRun) else None

    def live_runs(self) -> list[Run]:
        """Return the runs that have, or may have, a server now; never waits for the store."""
        return self._live.runs()

    # --- the queue --------------------------------------------------------------------------------------------------
    def queued_runs(self) -> list[Run]:
        """Return the queued runs, in the order of their start."""
        return [supervised.run for supervised in self._queue.supervised_runs()]

    @property
    def is_queue_on_hold(self) -> bool:
        return self._queue.is_on_hold

    def hold_queue(self, is_on_hold: bool) -> None:
        """Pause or resume the queue; running runs continue. Raises OSError if this cannot be stored."""
        self._factory.hold_queue(is_on_hold)
        self._ticker.wake()

    def queue_waits(self) -> dict[str, QueueWait]:
        """Return what each waiting run waits for, by run id."""
        return self._queue.waits(self.live_runs())

    def failed_starts(self) -> Mapping[str, str]:
        """Return the batches that wait for a decision, each with the run whose first start failed."""
        return self._queue.failed_starts()

    def release_batch(self, batch_id: str) -> None:
        """Start the other runs of a batch although its first start failed; no effect on other batches."""
        with self._lock:
            self._queue.release_batch(batch_id)
        self._ticker.wake()

    def reorder_queue(self, run_ids: Sequence[str]) -> None:
        """Start these runs first, in this order; ids that are no longer waiting are ignored."""
        with self._change_lock():
            moved_runs = [supervised.run for supervised in self._queue.reorder(run_ids)]
            self._deps.state_log.save_all(moved_runs, "moved in the queue")

    def skip(self, run_id: str) -> Run:
        """End a run before its workload is complete and keep its measurements, so that the next one starts."""
        with self._change_lock():
            supervised = self._live.get(run_id)
            if isinstance(supervised, LaunchedRun):
                supervised.end(note=SKIPPED)
                self._ticker.wake()
        if isinstance(supervised, LaunchedRun):
            return supervised.run
        return self._factory.ask(lambda: self._live.read_stored(run_id))
