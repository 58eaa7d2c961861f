"""A store that does not answer refuses who makes a run within five seconds, and holds up nobody else."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from domain import Config, RunState
from launcher.remote.hosts import Host
from launcher.remote.left_there import Left, all_left, note_left
from launcher.runs import left_servers, making
from launcher.runs.making import SilentStoreError
from launcher.runs.supervisor import Supervisor
from tests.launcher.servers import DictStore, request_for, wait_for, wait_for_state

ASKED = ("run", "runs", "names_like", "runs_of_batch")


class Silence:
    """While it lasts, no question to the store is answered."""

    def __init__(self, store: DictStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_over, self.asked = threading.Event(), threading.Event()
        for name in ASKED:
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


@pytest.mark.parametrize("what", ["launch", "attach", "repeat", "rename", "stop", "skip"])
def test_who_needs_the_store_is_refused_and_a_server_is_stopped_meanwhile(
    what: str, store: DictStore, supervisor: Supervisor, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = supervisor.launch(request_for())
    wait_for_state(store, before.id, RunState.READY)
    supervisor.stop(before.id)
    wait_for_state(store, before.id, RunState.FINISHED)
    run = supervisor.launch(request_for())
    wait_for_state(store, run.id, RunState.READY)
    monkeypatch.setattr(making, "STORE_S", 2.0)
    other = socket.create_server(("127.0.0.1", 0))
    ways: dict[str, Callable[[], object]] = {
        "launch": lambda: supervisor.launch(request_for()),
        "attach": lambda: supervisor.attach(f"http://127.0.0.1:{other.getsockname()[1]}", Config()),
        "repeat": lambda: supervisor.repeat(before.id, 1),
        "rename": lambda: supervisor.rename(before.id, "other"),
        "stop": lambda: supervisor.stop(before.id),
        "skip": lambda: supervisor.skip(before.id),
    }
    silence = Silence(store, monkeypatch)
    waiting = pool.submit(ways[what])
    try:
        assert silence.asked.wait(60)
        stopping: Future[object] = pool.submit(supervisor.stop, run.id)
        stopping.result(60)
        wait_for(lambda: run.id not in [live.id for live in supervisor.live_runs()])
        if what == "rename":
            waiting.result(60)
        else:
            with pytest.raises(SilentStoreError, match=r"^The store does not answer now, so nothing was started"):
                waiting.result(60)
    finally:
        silence.is_over.set()
        other.close()
    if what == "rename":
        wait_for(lambda: store.run(before.id).name == "other")
    assert {known.id for known in store.runs()} == {before.id, run.id}, "what was refused is not made later"
    assert supervisor.live_runs() == supervisor.queued_runs() == []


def test_the_refusal_comes_within_five_seconds_and_the_next_launch_does_not_wait_longer(
    store: DictStore, supervisor: Supervisor, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert making.STORE_S + making.SETTLE_S < 5.0
    monkeypatch.setattr(making, "STORE_S", 2.0)
    silence = Silence(store, monkeypatch)
    begun_s = time.monotonic()
    both = [pool.submit(supervisor.launch, request_for()) for _ in range(2)]
    for waiting in both:
        with pytest.raises(SilentStoreError):
            waiting.result(60)
    assert time.monotonic() - begun_s < 3.5
    silence.is_over.set()
    supervisor.launch(request_for())


def test_a_server_is_stopped_while_the_store_is_asked_of_a_run_whose_server_was_left_elsewhere(
    store: DictStore, supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = supervisor.launch(request_for())
    wait_for_state(store, run.id, RunState.READY)
    monkeypatch.setattr(left_servers, "AGAIN_S", 0.1)
    silence = Silence(store, monkeypatch)
    host = Host(label="gpu-box", target="box")
    note_left(tmp_path / "runs", Left(host=host, run_id=run.id, is_left_alone=False, remains=()))
    try:
        assert silence.asked.wait(60)
        supervisor.stop(run.id)
        wait_for(lambda: run.id not in [live.id for live in supervisor.live_runs()])
        assert all_left(tmp_path / "runs"), "it is not told before the store has answered"
    finally:
        silence.is_over.set()
    wait_for(lambda: not all_left(tmp_path / "runs"))
