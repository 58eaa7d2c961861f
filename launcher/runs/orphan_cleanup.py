"""Ends servers left on a host that was unreachable when their run was stopped, once it answers again."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

from domain import Run
from errors import PitwallError
from launcher.remote.orphans import OrphanNote, delete_orphan_note, end_orphan, read_orphan_notes
from launcher.runs.state_log import RunStateStore
from launcher.runs.supervised_runs.dependencies import Dependencies

RETRY_S = 15.0
LONGEST_RETRY_S = 300.0  # for a host that stays unreachable
ORPHAN_ENDED = "{} answers again: the server that was left there has been ended."
REMAINS = "{} answers again, but not everything on it was released. {}"
LOG = logging.getLogger(__name__)


class OrphanCleanup:
    """Ends orphans on a thread of its own, which waits for ssh and the store; stepped under the supervisor's lock."""

    def __init__(self, store: RunStateStore, deps: Dependencies, runs_dir: Path) -> None:
        self._store, self._deps, self._runs_dir = store, deps, runs_dir
        self._thread: Thread | None = None
        self._due_s, self._pause_s = 0.0, RETRY_S
        self._waiting_ids: set[str] = set()
        self._handled: list[tuple[OrphanNote, Run | None]] = []

    def step(self) -> None:
        """Report ended orphans, and from time to time try the others again."""
        if self._thread and self._thread.is_alive():
            return
        while self._handled:
            self._report(*self._handled.pop())
        if self._deps.mono_s() < self._due_s:
            return
        notes = read_orphan_notes(self._runs_dir)
        self._set_pause([note for note in notes if note.remains is None])
        if notes:
            self._thread = Thread(target=self._end_orphans, args=(notes,), name="left-there", daemon=True)
            self._thread.start()

    def _set_pause(self, waiting: Sequence[OrphanNote]) -> None:
        """Double the pause each time, until the set of orphans changes."""
        is_as_before = self._waiting_ids == (run_ids := {note.run_id for note in waiting})
        self._pause_s = min(self._pause_s * 2, LONGEST_RETRY_S) if is_as_before and run_ids else RETRY_S
        self._waiting_ids, self._due_s = run_ids, self._deps.mono_s() + self._pause_s

    def _end_orphans(self, notes: Sequence[OrphanNote]) -> None:
        for note in notes:
            try:
                if note.remains is None:
                    note = end_orphan(self._runs_dir, note)
                self._deps.state_log.wait_until_stored()  # otherwise an older state of its run would be read
                self._handled.append((note, self._store.run(note.run_id)))
            except (PitwallError, OSError) as error:
                LOG.info("could not end the remains of run %s on %s: %s", note.run_id, note.host.label, error)

    def _report(self, note: OrphanNote, run: Run | None) -> None:
        remains = note.remains or ()
        sentence = (REMAINS if remains else ORPHAN_ENDED).format(note.host.label, " ".join(remains))
        if run:
            self._deps.state_log.save(run.model_copy(update={"note": sentence}), sentence)
        with suppress(OSError):
            delete_orphan_note(self._runs_dir, note.run_id)
