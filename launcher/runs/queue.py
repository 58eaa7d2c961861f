"""The queue of waiting runs: each starts when the runs it competes with have ended. A pause survives restarts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from domain import Run
from launcher.json_file import write_json
from launcher.runs.resource_claims import claim_of
from launcher.runs.supervised_runs.launched_run import LaunchedRun
from machine.private_files import private_folder

FILE = "queue.json"


class RunQueue:
    """Runs that have not begun; only the supervisor uses it, under its lock, but for `hold`.

    A run without a `queue_position` starts at once, on hold or not. The others wait for every run of the queue before
    them that has one of their GPUs or their port: in effect a queue per device set, see resource_claims.py.
    """

    def __init__(self, runs_dir: Path) -> None:
        self._path = runs_dir / FILE
        self._supervised: dict[str, LaunchedRun] = {}
        self._holding = threading.Lock()  # under it no other is taken
        self.is_on_hold = bool(json.loads(self._path.read_text())["is_on_hold"]) if self._path.exists() else False

    def hold(self, is_on_hold: bool) -> None:
        """Start nothing more from the queue until it is released; what runs goes on. It writes, and a disk may hang."""
        with self._holding:
            private_folder(self._path.parent)
            write_json(self._path, {"is_on_hold": is_on_hold})
            self.is_on_hold = is_on_hold

    def add(self, supervised: LaunchedRun) -> None:
        """Put a run on the queue; its `queue_position` says when it starts, not the order of these calls."""
        self._supervised[supervised.run.id] = supervised

    def take(self, run_id: str) -> LaunchedRun | None:
        """Take a run off the queue."""
        return self._supervised.pop(run_id, None)

    def supervised_runs(self) -> list[LaunchedRun]:
        """All that wait, in the order of their start."""
        # A page may ask while the supervisor adds: sorted() copies before it asks for keys.
        return sorted(
            self._supervised.values(), key=lambda supervised: (supervised.run.queue_position or 0.0, supervised.run.id)
        )

    def starting_soon(self) -> list[LaunchedRun]:
        """Those that wait for nothing but the next tick."""
        return [supervised for supervised in self.supervised_runs() if supervised.run.queue_position is None]

    def waiting(self) -> list[LaunchedRun]:
        """Those that wait for others, the next one first."""
        return [supervised for supervised in self.supervised_runs() if supervised.run.queue_position is not None]

    def due(self, live: Iterable[Run]) -> list[LaunchedRun]:
        """Those whose time has come."""
        return [*self.starting_soon(), *([] if self.is_on_hold else self._next(live))]

    def _next(self, live: Iterable[Run]) -> Iterator[LaunchedRun]:
        taken = [claim_of(run) for run in live if run.queue_position is not None]
        for supervised in self.waiting():
            claim = claim_of(supervised.run)
            if not any(map(claim.competes_with, taken)):
                yield supervised
            taken.append(claim)  # of one that waits too: nobody overtakes it on its own GPUs

    def next_place(self, live: Iterable[Run]) -> float:
        """A place behind everything that is queued or runs from the queue."""
        runs = [*(supervised.run for supervised in self.supervised_runs()), *live]
        return max((run.queue_position or 0.0 for run in runs), default=0.0) + 1.0

    def reorder(self, run_ids: Sequence[str]) -> list[LaunchedRun]:
        """Put the named runs first, in this order, the others behind them as they were; those that moved.

        Names that do not wait any more are passed over: a page may be a moment behind.
        """
        waiting = self.waiting()
        places = [supervised.run.queue_position for supervised in waiting]
        rank = {run_id: at for at, run_id in enumerate(run_ids)}
        wanted = sorted(waiting, key=lambda supervised: rank.get(supervised.run.id, len(rank)))
        moved = [
            (supervised, place)
            for supervised, place in zip(wanted, places, strict=True)
            if supervised.run.queue_position != place
        ]
        for supervised, place in moved:
            supervised.run = supervised.run.model_copy(update={"queue_position": place})
        return [supervised for supervised, _ in moved]
