"""The runs that are not over: those that have a server, or may have one, and those that wait in the queue."""

from __future__ import annotations

from pathlib import Path

from domain import NOT_OVER, Run, RunState
from errors import PitwallError
from launcher.processes.process import shim_secrets
from launcher.runs.launching import supervised_of
from launcher.runs.left_servers import LeftServers
from launcher.runs.queue import RunQueue
from launcher.runs.recorder import RunStore
from launcher.runs.supervised_runs.attached_run import Watch
from launcher.runs.supervised_runs.dependencies import Dependencies
from launcher.runs.supervised_runs.faults import Faults
from launcher.runs.supervised_runs.launched_run import LaunchedRun
from machine.identity import REMOTE
from machine.ports import server_at

OTHER_MACHINE = "It was live on another machine when this store was last used: its end is unknown."


class UnknownRunError(PitwallError):
    """No run of the store has this id."""


class LiveRuns:
    """The lives of runs by their id; only the supervisor changes them, under its lock. `runs` never waits."""

    def __init__(self, store: RunStore, deps: Dependencies, runs_dir: Path, machine: str) -> None:
        self._store = store
        self._deps = deps
        self._runs_dir = runs_dir
        self._machine = machine
        self._faults = Faults(deps.recorder)
        self._supervised: dict[str, LaunchedRun | Watch] = {}
        self._left = LeftServers(store, deps, runs_dir)
        self.queue = RunQueue(runs_dir)

    def adopt_all(self) -> list[Run]:
        """Take back every run of the store that is not over."""
        return [self._adopt(run) for run in list(self._store.runs(NOT_OVER))]

    def _adopt(self, run: Run) -> Run:
        is_remote = run.kind == "attached" and run.machine_id.startswith(REMOTE)
        if run.machine_id != self._machine and not is_remote and run.on_host is None:
            update = {"state": RunState.FAILED, "cause": OTHER_MACHINE}
            return self._deps.recorder.save(run.model_copy(update=update), OTHER_MACHINE)
        if run.kind == "attached":
            self.watch(run)
            return run
        assert run.run_dir
        supervised = supervised_of(run, self._deps, shim_secrets(Path(run.run_dir)), was_adopted=True)
        if run.state is RunState.QUEUED:
            self.queue.add(supervised)
        else:
            self._supervised[run.id] = supervised
        return run

    def watch(self, run: Run) -> None:
        """From now on an attached run is looked at."""
        self._supervised[run.id] = Watch(run, self._deps, self._runs_dir)

    def step(self) -> None:
        """Look at every live run once, and start what the queue has next."""
        for supervised in list(self._supervised.values()):
            self._faults.guard(supervised.run.id, supervised.step)
        for supervised in self.queue.due(self.runs()):
            self.queue.take(supervised.run.id)
            self._supervised[supervised.run.id] = supervised
            self._faults.guard(supervised.run.id, supervised.begin)
        self._supervised = {
            run_id: supervised for run_id, supervised in self._supervised.items() if not supervised.run.state.is_final
        }
        self._left.step()

    def get(self, run_id: str) -> LaunchedRun | Watch | None:
        """The supervised run that does not wait; None of one that waits or is over."""
        return self._supervised.get(run_id)

    def find(self, run_id: str) -> LaunchedRun | Watch | None:
        """The supervised run, whether it waits or not; None of one that is over."""
        return self._supervised.get(run_id) or next(
            (supervised for supervised in self.queue.supervised_runs() if supervised.run.id == run_id), None
        )

    def stored(self, run_id: str) -> Run:
        """A run as the store has it; raises UnknownRunError."""
        run = self._store.run(run_id)
        if run is None:
            raise UnknownRunError(f"There is no run {run_id}.")
        return run

    def let_go(self, run_id: str) -> None:
        """Look no more at a run that is over."""
        del self._supervised[run_id]

    def launched(self) -> list[LaunchedRun]:
        """Those that Pitwall launched."""
        return [supervised for supervised in self._supervised.values() if isinstance(supervised, LaunchedRun)]

    def is_ending(self, supervised: LaunchedRun) -> bool:
        """Whether a run that is being stopped may still come to its end: not one whose steps go wrong."""
        return not supervised.run.state.is_final and supervised.run.id not in self._faults

    def runs(self) -> list[Run]:
        """The runs that have, or may have, a server now; never waits for the store."""
        return [supervised.run for supervised in list(self._supervised.values())]

    def promised(self) -> list[Run]:
        """Those, and the runs that start with the next tick: their ports and GPUs are taken."""
        return [*self.runs(), *(supervised.run for supervised in self.queue.starting_soon())]

    def at(self, base_url: str) -> Run | None:
        """The live run whose server answers at this URL."""
        wanted = server_at(base_url)
        return next((run for run in self.runs() if run.base_url and server_at(run.base_url) == wanted), None)
