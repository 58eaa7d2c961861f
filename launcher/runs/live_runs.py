"""Runs that have not ended: those with a server, those that may have one, and those in the queue."""

from __future__ import annotations

from pathlib import Path

from domain import OPEN_STATES, Run, RunState
from errors import PitwallError
from launcher.processes.process import shim_secrets
from launcher.runs.launching import supervise
from launcher.runs.orphan_cleanup import OrphanCleanup
from launcher.runs.queue import RunQueue
from launcher.runs.state_log import RunStateStore
from launcher.runs.supervised_runs.attached_run import AttachedRun
from launcher.runs.supervised_runs.dependencies import Dependencies
from launcher.runs.supervised_runs.faults import Faults
from launcher.runs.supervised_runs.launched_run import LaunchedRun
from machine.identity import REMOTE
from machine.ports import server_at

OTHER_MACHINE = "It was running on another machine when this data folder was last used, so its end is unknown."
BATCH_HELD = "The other runs of its batch wait for a decision: they would probably fail in the same way."


class UnknownRunError(PitwallError):
    """The store has no run with this id."""


class LiveRunRegistry:
    """Supervised runs by id; only the supervisor changes them, under its lock. `runs` never waits."""

    def __init__(self, store: RunStateStore, deps: Dependencies, runs_dir: Path, machine: str) -> None:
        self._store = store
        self._deps = deps
        self._runs_dir = runs_dir
        self._machine = machine
        self._faults = Faults(deps.state_log)
        self._supervised: dict[str, LaunchedRun | AttachedRun] = {}
        self._orphan_cleanup = OrphanCleanup(store, deps, runs_dir)
        self.queue = RunQueue(runs_dir, deps.pool.submit)

    def adopt_all(self) -> list[Run]:
        """Adopt every run of the store that has not ended."""
        adopted = [self._adopt(run) for run in list(self._store.runs(OPEN_STATES))]
        self._note_earlier_starts()
        return adopted

    def _note_earlier_starts(self) -> None:
        """Tell the queue which run of each waiting batch started first under an earlier Pitwall."""
        waiting = [supervised.run for supervised in self.queue.waiting()]
        for batch_id in {run.batch_id for run in waiting if run.batch_id}:
            queued_at = min(run.created_at for run in waiting if run.batch_id == batch_id)
            starts = [
                (run.started_at, run.id)
                for run in self._store.runs_of_batch(batch_id)
                if run.started_at and run.started_at >= queued_at
            ]
            if starts:
                self.queue.note_start(batch_id, min(starts)[1])

    def _adopt(self, run: Run) -> Run:
        is_remote = run.kind == "attached" and run.machine_id.startswith(REMOTE)
        if run.machine_id != self._machine and not is_remote and run.on_host is None:
            update = {"state": RunState.FAILED, "cause": OTHER_MACHINE}
            return self._deps.state_log.save(run.model_copy(update=update), OTHER_MACHINE)
        if run.kind == "attached":
            self.watch(run)
            return run
        assert run.run_dir
        supervised = supervise(run, self._deps, shim_secrets(Path(run.run_dir)), was_adopted=True)
        if run.state is RunState.QUEUED:
            self.queue.add(supervised)
        else:
            self._supervised[run.id] = supervised
        return run

    def watch(self, run: Run) -> None:
        """Start watching an attached run."""
        self._supervised[run.id] = AttachedRun(run, self._deps, self._runs_dir)

    def step(self) -> None:
        """Check every live run once, and start due runs of the queue."""
        for supervised in list(self._supervised.values()):
            self._faults.guard(supervised.run.id, supervised.step)
        self._hold_failed_batches()
        for supervised in self.queue.due(self.runs()):
            self.queue.take(supervised.run.id)
            self.queue.note_start(supervised.run.batch_id, supervised.run.id)
            self._supervised[supervised.run.id] = supervised
            self._faults.guard(supervised.run.id, supervised.begin)
        self._hold_failed_batches()
        self._supervised = {
            run_id: supervised for run_id, supervised in self._supervised.items() if not supervised.run.state.is_final
        }
        self._orphan_cleanup.step()

    def _hold_failed_batches(self) -> None:
        for run in self.runs():
            if run.state is RunState.FAILED and self.queue.note_failure(run):
                self._deps.state_log.note(run.id, "warning", BATCH_HELD)

    def get(self, run_id: str) -> LaunchedRun | AttachedRun | None:
        """Return the supervised run; None if it is queued or has ended."""
        return self._supervised.get(run_id)

    def find(self, run_id: str) -> LaunchedRun | AttachedRun | None:
        """Return the supervised run, queued or not; None if it has ended."""
        return self._supervised.get(run_id) or next(
            (supervised for supervised in self.queue.supervised_runs() if supervised.run.id == run_id), None
        )

    def read_stored(self, run_id: str) -> Run:
        """Read a run from the store; raises UnknownRunError."""
        run = self._store.run(run_id)
        if run is None:
            raise UnknownRunError(f"There is no run {run_id}.")
        return run

    def forget(self, run_id: str) -> None:
        """Stop checking an ended run."""
        del self._supervised[run_id]

    def launched(self) -> list[LaunchedRun]:
        """Return the runs that Pitwall launched."""
        return [supervised for supervised in self._supervised.values() if isinstance(supervised, LaunchedRun)]

    def is_ending(self, supervised: LaunchedRun) -> bool:
        """Whether a run that is being stopped can still end: not if its steps fail."""
        return not supervised.run.state.is_final and supervised.run.id not in self._faults

    def runs(self) -> list[Run]:
        """Return the runs that have, or may have, a server now; never waits for the store."""
        return [supervised.run for supervised in list(self._supervised.values())]

    def reserving_runs(self) -> list[Run]:
        """Return these runs and those that start with the next tick: their ports and GPUs are reserved."""
        return [*self.runs(), *(supervised.run for supervised in self.queue.starting_soon())]

    def find_at_url(self, base_url: str) -> Run | None:
        """Return the live run whose server answers at this URL."""
        address = server_at(base_url)
        return next((run for run in self.runs() if run.base_url and server_at(run.base_url) == address), None)
