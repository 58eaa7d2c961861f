"""A store that does not answer refuses who makes a run within five seconds, and holds up nobody else."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from domain import Config, Run, RunState
from launcher.checks.prepared_launch import prepare_launch
from launcher.remote.hosts import Host
from launcher.remote.orphans import OrphanNote, read_orphan_notes, write_orphan_note
from launcher.runs import orphan_cleanup, run_factory
from launcher.runs.run_factory import SilentStoreError
from launcher.runs.supervised_runs.launched_run import LaunchedRun
from launcher.runs.supervisor import Supervisor
from service.core import opened_core
from settings import Settings
from tests.launcher.servers import DictStore, request_for, wait_for, wait_for_state

pytestmark = pytest.mark.wide

ASKED = ("run", "runs", "names_like", "runs_of_batch")
SWEEP = 128
LATE_S = 9.0  # where it is given 2, beside other tests


class Silence:
    """While it lasts, no question to the store is answered."""

    def __init__(self, store: DictStore, monkeypatch: pytest.MonkeyPatch, questions: Sequence[str] = ASKED) -> None:
        self.is_over, self.asked = threading.Event(), threading.Event()
        for name in questions:
            monkeypatch.setattr(store, name, self._late(getattr(store, name)))

    def _late(self, answer: Callable[..., Any]) -> Callable[..., Any]:
        def late(*args: Any, **kwargs: Any) -> Any:
            self.asked.set()
            self.is_over.wait()
            return answer(*args, **kwargs)

        return late


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as pool:
        yield pool


@pytest.mark.parametrize("text", ["launch", "attach", "repeat", "rename", "stop", "skip"])
def test_server_stops_while_store_use_is_refused(
    text: str, store: DictStore, supervisor: Supervisor, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = supervisor.launch(request_for())
    wait_for_state(store, before.id, RunState.READY)
    supervisor.stop(before.id)
    wait_for_state(store, before.id, RunState.FINISHED)
    run = supervisor.launch(request_for())
    wait_for_state(store, run.id, RunState.READY)
    monkeypatch.setattr(run_factory, "DEADLINE_S", 2.0)
    other_server = socket.create_server(("127.0.0.1", 0))
    ways: dict[str, Callable[[], object]] = {
        "launch": lambda: supervisor.launch(request_for()),
        "attach": lambda: supervisor.attach(f"http://127.0.0.1:{other_server.getsockname()[1]}", Config()),
        "repeat": lambda: supervisor.repeat(before.id, 1),
        "rename": lambda: supervisor.rename(before.id, "other"),
        "stop": lambda: supervisor.stop(before.id),
        "skip": lambda: supervisor.skip(before.id),
    }
    silence = Silence(store, monkeypatch)
    waiting = pool.submit(ways[text])
    try:
        assert silence.asked.wait(60)
        stopping: Future[object] = pool.submit(supervisor.stop, run.id)
        stopping.result(60)
        wait_for(lambda: run.id not in [live.id for live in supervisor.live_runs()])
        if text == "rename":
            waiting.result(60)
        else:
            with pytest.raises(SilentStoreError, match=r"^The store is not responding, so nothing was started"):
                waiting.result(60)
    finally:
        silence.is_over.set()
        other_server.close()
    if text == "rename":
        wait_for(lambda: store.run(before.id).name == "other")
    assert {run.id for run in store.runs()} == {before.id, run.id}, "what was refused is not made later"
    assert supervisor.live_runs() == supervisor.queued_runs() == []


def test_refusal_within_five_seconds_each_launch(
    store: DictStore, supervisor: Supervisor, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_factory.DEADLINE_S + max(run_factory.SETTLE_S, run_factory.PER_RUN_S) < 5.0
    monkeypatch.setattr(run_factory, "DEADLINE_S", 2.0)
    silence = Silence(store, monkeypatch)
    begun_s = time.monotonic()
    both = [pool.submit(supervisor.launch, request_for()) for _ in range(2)]
    for waiting in both:
        with pytest.raises(SilentStoreError):
            waiting.result(60)
    assert time.monotonic() - begun_s < 3.5
    silence.is_over.set()
    supervisor.launch(request_for())


@pytest.mark.parametrize("silent", ["runs", "names_like"])
def test_batch_is_refused_whole_like_a_single_run(
    silent: str, store: DictStore, supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_factory, "DEADLINE_S", 2.0)
    monkeypatch.setattr(run_factory, "prepare_and_check", prepare_launch)  # which takes seconds on a busy machine
    silence = Silence(store, monkeypatch, (silent,))
    begun_s = time.monotonic()
    try:
        with pytest.raises(SilentStoreError, match="nothing was started"):
            supervisor.launch_batch([request_for()] * SWEEP, one_after_the_other=True)
        took_s = time.monotonic() - begun_s
    finally:
        silence.is_over.set()
    assert took_s < LATE_S, "at 0.1 s more for each run it is 14 s"
    wait_for(lambda: not is_making())
    assert store.saved == [] and supervisor.queued_runs() == [] == supervisor.live_runs()
    assert list((tmp_path / "runs").glob("*/spec.json")) == []
    supervisor.hold_queue(True)
    launch_batch = supervisor.launch_batch([request_for()] * 2, one_after_the_other=True)
    assert [run.name for run in launch_batch] == ["plain", "plain (2)"]
    assert len(list((tmp_path / "runs").glob("*/spec.json"))) == 2


def test_batch_without_folders_is_withdrawn(
    store: DictStore, supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk hangs at the folder before the last: those that were made do not stay either."""
    monkeypatch.setattr(run_factory, "DEADLINE_S", 2.0)
    is_over, laid, real = threading.Event(), list[str](), run_factory.new_supervised_run

    def hanging(run: Run, *given: Any) -> LaunchedRun:
        laid.append(run.id)
        if len(laid) == SWEEP - 1:
            is_over.wait()
        return real(run, *given)

    with monkeypatch.context() as patched:
        patched.setattr(run_factory, "new_supervised_run", hanging)
        with pytest.raises(SilentStoreError, match="nothing was started"):
            supervisor.launch_batch([request_for()] * SWEEP, one_after_the_other=True)
        assert 0 < len(list((tmp_path / "runs").glob("*/spec.json"))) < SWEEP
        is_over.set()
        wait_for(lambda: not is_making())
    assert list((tmp_path / "runs").glob("*/spec.json")) == []
    assert store.saved == [] and supervisor.queued_runs() == [] == supervisor.live_runs()


@pytest.mark.publishes
def test_reopened_store_refuses_a_batch(
    tmp_path: Path, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file waits for a reader that does not end, and every other question for the file."""
    monkeypatch.setattr(run_factory, "DEADLINE_S", 2.0)
    monkeypatch.setattr(run_factory, "prepare_and_check", prepare_launch)
    with opened_core(Settings(data_dir=tmp_path / "data")) as core:
        with core.store._database.cursor():
            reopening = pool.submit(core.store._database.reopen)
            wait_for(lambda: core.store._database._reopening)
            begun_s = time.monotonic()
            with pytest.raises(SilentStoreError):
                core.supervisor.launch_batch([request_for()] * SWEEP, one_after_the_other=True)
            took_s = time.monotonic() - begun_s
        reopening.result(60)
        assert took_s < LATE_S
        wait_for(lambda: not is_making())
        assert core.store.runs() == core.supervisor.queued_runs() == []


def is_making() -> bool:
    return any(thread.name == "making" for thread in threading.enumerate())


def test_server_stops_while_store_is_queried(
    store: DictStore, supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = supervisor.launch(request_for())
    wait_for_state(store, run.id, RunState.READY)
    monkeypatch.setattr(orphan_cleanup, "RETRY_S", 0.1)
    silence = Silence(store, monkeypatch)
    host = Host(label="gpu-box", target="box")
    write_orphan_note(tmp_path / "runs", OrphanNote(host=host, run_id=run.id, is_left_alone=False, remains=()))
    try:
        assert silence.asked.wait(60)
        supervisor.stop(run.id)
        wait_for(lambda: run.id not in [live.id for live in supervisor.live_runs()])
        assert read_orphan_notes(tmp_path / "runs"), "it is not told before the store has answered"
    finally:
        silence.is_over.set()
    wait_for(lambda: not read_orphan_notes(tmp_path / "runs"))
