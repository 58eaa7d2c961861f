"""Queue of waiting runs: each starts when the runs it competes with have ended. A pause survives restarts.

If the first start of a batch fails for a cause that would recur, the other runs of the batch are held until somebody
decides about them. A study's runs are not held: the study decides by itself.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from domain import Run, RunState
from launcher.json_file import write_json
from launcher.runs.resource_claims import claim_of
from launcher.runs.supervised_runs.launched_run import LaunchedRun
from machine.private_files import private_folder

# Causes that may be gone at the next start: a port or memory that others use, the network, a signal, a slow download.
_PASSING_CAUSES = re.compile(
    r"(?:[Aa]ddress|[Pp]ort) .{0,60}in use|[Pp]ort \d+ (?:is (?:not available|occupied)|belongs to)|"
    r"Free memory on device|GPU memory were free at the start|"
    r"timed? ?out|[Tt]imeout|not ready: no progress|Temporary failure|name resolution|reset by peer|"
    r"[Nn]etwork is unreachable|[Nn]o route to host|Too Many Requests|Max retries exceeded|"
    r"Service Unavailable|Bad Gateway|Gateway Time-?out|"
    r"SIGTERM|SIGINT|SIGKILL|KeyboardInterrupt|"
    r"run directory is gone|not everything was released"
)

LOG = logging.getLogger(__name__)
FILE = "queue.json"


class QueueWait(NamedTuple):
    """What a waiting run waits for: the runs ahead of it that it competes with, or a decision about its batch."""

    names_ahead: tuple[str, ...] = ()
    failed_start: str | None = None  # id of the run whose failure holds its batch


NEXT = QueueWait()  # of a run that starts with the next tick, unless the queue is on hold


class RunQueue:
    """Runs that have not begun; except for `hold`, only the supervisor uses it, under its lock.

    A run without a `queue_position` starts immediately, even on hold. The others wait for every earlier run of the
    queue that uses one of their GPUs or their port: in effect one queue per device set, see resource_claims.py.
    Held runs let later ones pass. `run_later` calls a function on another thread, for a file that may hang.
    """

    def __init__(self, runs_dir: Path, run_later: Callable[[Callable[[], None]], object]) -> None:
        self._path = runs_dir / FILE
        self._run_later = run_later
        self._supervised: dict[str, LaunchedRun] = {}
        self._hold_lock = threading.Lock()  # no other lock is taken under it
        stored = json.loads(self._path.read_text()) if self._path.exists() else {}
        self.is_on_hold = bool(stored.get("is_on_hold"))
        self._failed_starts: dict[str, str] = stored.get("failed_starts", {})  # held batch -> the run that failed
        self._first_starts: dict[str, str] = {}  # batch -> the run that started first after the last `add`

    def hold(self, is_on_hold: bool) -> None:
        """Pause or resume starts from the queue; running runs continue. Writes a file, so it may hang."""
        with self._hold_lock:
            self._write(is_on_hold)
            self.is_on_hold = is_on_hold

    def _write(self, is_on_hold: bool) -> None:
        private_folder(self._path.parent)
        write_json(self._path, {"is_on_hold": is_on_hold, "failed_starts": dict(self._failed_starts)})

    def _write_later(self) -> None:
        def write() -> None:
            try:
                with self._hold_lock:
                    self._write(self.is_on_hold)
            except OSError:
                LOG.exception("the held batches could not be stored")

        self._run_later(write)

    def add(self, supervised: LaunchedRun) -> None:
        """Add a run; its `queue_position` decides when it starts, not the order of these calls."""
        self._supervised[supervised.run.id] = supervised
        self._first_starts.pop(supervised.run.batch_id or "", None)

    def take(self, run_id: str) -> LaunchedRun | None:
        """Remove a run from the queue; None if it is not queued. The last one ends the hold of its batch."""
        supervised = self._supervised.pop(run_id, None)
        if supervised and supervised.run.batch_id not in self.failed_starts():
            self.release_batch(supervised.run.batch_id or "")
        return supervised

    def note_start(self, batch_id: str | None, run_id: str) -> None:
        """Note that a run starts; the first of a batch speaks for the others."""
        if batch_id:
            self._first_starts.setdefault(batch_id, run_id)

    def note_failure(self, run: Run) -> bool:
        """Hold the other runs of the batch if its first start failed and would fail again; return whether it did."""
        batch_id = run.batch_id
        is_first = batch_id is not None and self._first_starts.get(batch_id) == run.id
        if not batch_id or not is_first or run.arm is not None or batch_id in self._failed_starts:
            return False
        if not _would_fail_again(run) or not any(queued.run.batch_id == batch_id for queued in self.waiting()):
            return False
        self._failed_starts[batch_id] = run.id
        self._write_later()
        return True

    def release_batch(self, batch_id: str) -> None:
        """Let the other runs of a held batch start."""
        if self._failed_starts.pop(batch_id, None):
            self._write_later()

    def failed_starts(self) -> Mapping[str, str]:
        """Return the run whose failure holds a batch, by batch id, for batches with waiting runs."""
        batches = {supervised.run.batch_id for supervised in self.waiting()}
        return {batch_id: run_id for batch_id, run_id in list(self._failed_starts.items()) if batch_id in batches}

    def supervised_runs(self) -> list[LaunchedRun]:
        """Return all queued runs, in the order of their start."""
        # A page may call this while the supervisor adds a run: sorted() copies before it calls the key function.
        return sorted(
            self._supervised.values(), key=lambda supervised: (supervised.run.queue_position or 0.0, supervised.run.id)
        )

    def starting_soon(self) -> list[LaunchedRun]:
        """Return the runs that start with the next tick."""
        return [supervised for supervised in self.supervised_runs() if supervised.run.queue_position is None]

    def waiting(self) -> list[LaunchedRun]:
        """Return the runs that wait for others, the next one first."""
        return [supervised for supervised in self.supervised_runs() if supervised.run.queue_position is not None]

    def due(self, live: Iterable[Run]) -> list[LaunchedRun]:
        """Return the runs that start now, given the live runs."""
        waits = {} if self.is_on_hold else self.waits(live)
        next_runs = [supervised for supervised in self.waiting() if waits.get(supervised.run.id) == NEXT]
        return [*self.starting_soon(), *next_runs]

    def waits(self, live: Iterable[Run]) -> dict[str, QueueWait]:
        """Return what each waiting run waits for, by run id, given the live runs."""
        ahead = [(run.name, claim_of(run)) for run in live if run.queue_position is not None]
        waits: dict[str, QueueWait] = {}
        for supervised in self.waiting():
            run = supervised.run
            if failed_id := self._failed_starts.get(run.batch_id or ""):
                waits[run.id] = QueueWait(failed_start=failed_id)
                continue
            claim = claim_of(run)
            waits[run.id] = QueueWait(tuple(name for name, claim_ahead in ahead if claim.competes_with(claim_ahead)))
            ahead.append((run.name, claim))  # also of a waiting run: nobody overtakes it on its own GPUs
        return waits

    def next_position(self, live: Iterable[Run]) -> float:
        """Return a position behind all queued runs and all live runs from the queue."""
        runs = [*(supervised.run for supervised in self.supervised_runs()), *live]
        return max((run.queue_position or 0.0 for run in runs), default=0.0) + 1.0

    def reorder(self, run_ids: Sequence[str]) -> list[LaunchedRun]:
        """Put these runs first, in this order, and the others behind them as before; return those that moved.

        Ids that are no longer waiting are ignored, since a page may be slightly out of date.
        """
        waiting = self.waiting()
        positions = [supervised.run.queue_position for supervised in waiting]
        rank = {run_id: index for index, run_id in enumerate(run_ids)}
        ordered = sorted(waiting, key=lambda supervised: rank.get(supervised.run.id, len(rank)))
        moved_runs = [
            (supervised, position)
            for supervised, position in zip(ordered, positions, strict=True)
            if supervised.run.queue_position != position
        ]
        for supervised, position in moved_runs:
            supervised.run = supervised.run.model_copy(update={"queue_position": position})
        return [supervised for supervised, _ in moved_runs]


def _would_fail_again(run: Run) -> bool:
    """Whether the run failed before it was ready, for a cause that is not known to pass by itself."""
    if run.state is not RunState.FAILED or run.ready_at is not None or run.is_failed_by_pitwall:
        return False
    return _PASSING_CAUSES.search(f"{run.cause or ''}\n{run.cause_line or ''}") is None
