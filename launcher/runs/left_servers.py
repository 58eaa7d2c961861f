"""Ends servers that were left on a host that was away when their run was stopped, once it answers again."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

from domain import Run
from errors import PitwallError
from launcher.remote.left_there import Left, all_left, end_left, forget_left
from launcher.runs.recorder import RunStore
from launcher.runs.supervised_runs.dependencies import Dependencies

AGAIN_S = 15.0
SELDOM_S = 300.0  # for a host that has been away for long
ENDED = "{} answers again: what was left of the server there has been ended."
REMAINS = "{} answers again, and not everything there is as before. {}"
LOG = logging.getLogger(__name__)


class LeftServers:
    """Only the supervisor calls it, under its lock; a thread of its own waits for ssh and asks the store."""

    def __init__(self, store: RunStore, deps: Dependencies, runs_dir: Path) -> None:
        self._store, self._deps, self._runs_dir = store, deps, runs_dir
        self._trying: Thread | None = None
        self._due_s, self._pause_s = 0.0, AGAIN_S
        self._known: set[str] = set()
        self._ended: list[tuple[Left, Run | None]] = []

    def step(self) -> None:
        """Now and then: say what has been ended, and try the others again."""
        if self._trying and self._trying.is_alive():
            return
        while self._ended:
            self._say(*self._ended.pop())
        if self._deps.mono_s() < self._due_s:
            return
        lefts = all_left(self._runs_dir)
        self._pause([left for left in lefts if left.remains is None])
        if lefts:
            self._trying = Thread(target=self._try, args=(lefts,), name="left-there", daemon=True)
            self._trying.start()

    def _pause(self, waiting: Sequence[Left]) -> None:
        """Longer each time, until there is one more or one less."""
        is_as_before = self._known == (known := {left.run_id for left in waiting})
        self._pause_s = min(self._pause_s * 2, SELDOM_S) if is_as_before and known else AGAIN_S
        self._known, self._due_s = known, self._deps.mono_s() + self._pause_s

    def _try(self, lefts: Sequence[Left]) -> None:
        for left in lefts:
            try:
                if left.remains is None:
                    left = end_left(self._runs_dir, left)
                self._deps.recorder.wait_until_stored()  # or its run would be given the state that it had before
                self._ended.append((left, self._store.run(left.run_id)))
            except (PitwallError, OSError) as error:
                LOG.info("What is left of run %s on %s: %s", left.run_id, left.host.label, error)

    def _say(self, left: Left, run: Run | None) -> None:
        remains = left.remains or ()
        words = (REMAINS if remains else ENDED).format(left.host.label, " ".join(remains))
        if run:
            self._deps.recorder.save(run.model_copy(update={"note": words}), words)
        with suppress(OSError):
            forget_left(self._runs_dir, left.run_id)
