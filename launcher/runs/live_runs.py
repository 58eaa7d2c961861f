"""The runs that are not over: those that have a server, or may have one, and those that wait in the queue."""

from __future__ import annotations

from pathlib import Path

from domain import NOT_OVER, Run, RunState
from errors import PitwallError
from launcher.processes.process import shim_secrets
from launcher.runs.launching import life_of
from launcher.runs.left_servers import LeftServers
from launcher.runs.lives.attached_run import Watch
from launcher.runs.lives.dependencies import Dependencies
from launcher.runs.lives.faults import Faults
from launcher.runs.lives.launched_run import LaunchedRun
from launcher.runs.queue import RunQueue
from launcher.runs.recorder import RunStore
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
        self._lives: dict[str, LaunchedRun | Watch] = {}
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
        life = life_of(run, self._deps, shim_secrets(Path(run.run_dir)), was_adopted=True)
        if run.state is RunState.QUEUED:
            self.queue.add(life)
        else:
            self._lives[run.id] = life
        return run

    def watch(self, run: Run) -> None:
        """From now on an attached run is looked at."""
        self._lives[run.id] = Watch(run, self._deps, self._runs_dir)

    def step(self) -> None:
        """Look at every live run once, and start what the queue has next."""
        for life in list(self._lives.values()):
            self._faults.guard(life.run.id, life.step)
        for life in self.queue.due(self.runs()):
            self.queue.take(life.run.id)
            self._lives[life.run.id] = life
            self._faults.guard(life.run.id, life.begin)
        self._lives = {run_id: life for run_id, life in self._lives.items() if not life.run.state.is_final}
        self._left.step()

    def get(self, run_id: str) -> LaunchedRun | Watch | None:
        """The life of a run that does not wait; None of one that waits or is over."""
        return self._lives.get(run_id)

    def find(self, run_id: str) -> LaunchedRun | Watch | None:
        """The life of a run, whether it waits or not; None of one that is over."""
        return self._lives.get(run_id) or next((life for life in self.queue.lives() if life.run.id == run_id), None)

    def stored(self, run_id: str) -> Run:
        """A run as the store has it; raises UnknownRunError."""
        run = self._store.run(run_id)
        if run is None:
            raise UnknownRunError(f"There is no run {run_id}.")
        return run

    def let_go(self, run_id: str) -> None:
        """Look no more at a run that is over."""
        del self._lives[run_id]

    def launched(self) -> list[LaunchedRun]:
        """Those that Pitwall launched."""
        return [life for life in self._lives.values() if isinstance(life, LaunchedRun)]

    def is_ending(self, life: LaunchedRun) -> bool:
        """Whether a run that is being stopped may still come to its end: not one whose steps go wrong."""
        return not life.run.state.is_final and life.run.id not in self._faults

    def runs(self) -> list[Run]:
        """The runs that have, or may have, a server now; never waits for the store."""
        return [life.run for life in list(self._lives.values())]

    def promised(self) -> list[Run]:
        """Those, and the runs that start with the next tick: their ports and GPUs are taken."""
        return [*self.runs(), *(life.run for life in self.queue.starting_soon())]

    def at(self, base_url: str) -> Run | None:
        """The live run whose server answers at this URL."""
        wanted = server_at(base_url)
        return next((run for run in self.runs() if run.base_url and server_at(run.base_url) == wanted), None)
