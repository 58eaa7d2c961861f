"""The order in which locks are taken, watched on a real store, supervisor and loop put together as app.py does.

docs/threads-and-locks.md has the order; a thread that holds a lock takes only one that stands below it.
"""

from __future__ import annotations

import ast
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from collectors.loop import CollectorLoop
from collectors.standard import standard_collectors
from domain import Run, RunState
from launcher.runs.supervisor import Supervisor
from machine.identity import machine_id
from samples import Batch, Event
from settings import Settings
from storage.store import Store
from tests.launcher.servers import marked, request_for, wait_for
from tests.test_architecture import product_files
from tests.test_threads_document import LOCKS, lock_lines, rows_of

pytestmark = pytest.mark.publishes

ROOT = Path(__file__).resolve().parents[1]
FLOORS = {  # 'Class.attribute' -> the row of the document's table; two of one row are not held together either
    name: floor for floor, row in enumerate(rows_of(LOCKS)) for name in row
}
SITES = {  # file and line that makes it -> 'Class.attribute'
    (str(path.relative_to(ROOT)), line): name
    for path in product_files()
    for line, name in lock_lines(ast.parse(path.read_text()))
    if name in FLOORS
}


class Watch:
    """Which of our locks each thread holds, and every pair of which the second was taken while the first was held."""

    def __init__(self) -> None:
        self.held = threading.local()
        self.pairs: set[tuple[str, str]] = set()

    def taken(self, name: str) -> None:
        held: list[str] = getattr(self.held, "names", [])
        self.pairs |= {(before, name) for before in held if before != name}
        self.held.names = [*held, name]

    def let_go(self, name: str) -> None:
        with suppress(ValueError):
            held = list(getattr(self.held, "names", []))
            held.reverse()
            held.remove(name)
            held.reverse()
            self.held.names = held


class WatchedLock:
    """A lock that says when it is taken; everything else is the real one's."""

    def __init__(self, lock: Any, name: str, watch: Watch) -> None:
        self._lock, self._name, self._watch = lock, name, watch

    def acquire(self, *args: Any, **kwargs: Any) -> Any:
        done = self._lock.acquire(*args, **kwargs)
        if done:
            self._watch.taken(self._name)
        return done

    def release(self) -> None:
        self._watch.let_go(self._name)
        self._lock.release()

    def __enter__(self) -> Any:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


def _site() -> str | None:
    """Which of our locks is made here."""
    frame = sys._getframe(2)
    path = Path(frame.f_code.co_filename)
    return SITES.get((str(path.relative_to(ROOT)), frame.f_lineno)) if path.is_relative_to(ROOT) else None


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch()

    def watched(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(*args: Any) -> Any:
            site = _site()
            return WatchedLock(make(*args), site, watch) if site else make(*args)

        return made

    for name in ("Lock", "RLock", "Condition"):
        monkeypatch.setattr(threading, name, watched(getattr(threading, name)))
    return watch


@pytest.fixture
def pitwall(watch: Watch, tmp_path: Path) -> Iterator[tuple[Store, Supervisor]]:
    store = Store.open(Settings(data_dir=tmp_path / "data"))

    supervisor = Supervisor(
        store, tmp_path / "runs", events=store.write, ended=lambda run: loop.end(run), stop_grace_s=5.0
    )

    def take(batch: Batch) -> Any:
        for event in batch.samples:
            if isinstance(event, Event) and event.kind == "phase":
                supervisor.set_phase(event.run_id, event.text)
            elif isinstance(event, Event) and event.kind == "startup":
                supervisor.note_fact(event.run_id, event.data["key"], event.data["value"])
        return store.write(batch)

    loop = CollectorLoop(take, supervisor.live_runs, standard_collectors(machine_id(), store.tail_position))
    loop.start()
    supervisor.start()
    yield store, supervisor
    supervisor.close(stop_servers=True)
    loop.stop()
    for run in store.runs():
        for process in marked(run.id):
            process.kill()
    store.close()


def ended(store: Store, run: Run) -> bool:
    known = store.run(run.id)
    return known is not None and known.state.is_final


def test_no_thread_takes_a_lock_above_one_that_it_holds(watch: Watch, pitwall: tuple[Store, Supervisor]) -> None:
    store, supervisor = pitwall
    run = supervisor.launch(request_for())
    queued = supervisor.launch_batch([request_for(), request_for()], one_after_the_other=True)
    wait_for(lambda: (known := store.run(run.id)) and known.state is RunState.READY)
    supervisor.set_phase(run.id, "loading")
    supervisor.reorder_queue([queued[1].id])
    supervisor.cancel(queued[0].id)
    store.seal()
    store.publish()
    store.look_for_lost_files()
    supervisor.stop(run.id)
    wait_for(lambda: ended(store, run))
    supervisor.skip(queued[1].id)
    supervisor.stop(queued[1].id)
    wait_for(lambda: ended(store, queued[1]))
    time.sleep(0)  # let the last callbacks go
    assert ("Supervisor._lock", "Writer._changed") in watch.pairs, "the watch sees pairs at all"
    upward = {(held, taken) for held, taken in watch.pairs if FLOORS[held] >= FLOORS[taken]}
    assert upward == set()


def test_two_locks_of_one_file_are_told_apart() -> None:
    assert {"Supervisor._lock", "Supervisor._making"} <= set(SITES.values())
