"""A disk that hangs, played by calls that do not return: its own run lacks something, every other one goes on."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest

from domain import Config, RunState
from launcher.checks import preflight
from launcher.checks.launch_request import LaunchRefusedError, LaunchRequest
from launcher.processes import runtimes
from launcher.runs import queue, run_factory
from launcher.runs.run_factory import SilentStoreError
from launcher.runs.supervised_runs import launched_run, server_notes, slow_reads
from launcher.runs.supervisor import Supervisor
from machine.detached_calls import DetachedCalls
from tests.launcher.servers import DictStore, request_for, wait_for, wait_for_state

pytestmark = pytest.mark.wide

T = TypeVar("T")


class Hang:
    """Calls in whose arguments a word stands return when it is over."""

    def __init__(self, word: str = "") -> None:
        self.word, self.is_over, self.is_met = word, threading.Event(), threading.Event()

    def within(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def hanging(*args: Any, **kwargs: Any) -> Any:
            if self.word and self.word in str(args):
                self.is_met.set()
                self.is_over.wait()
            return call(*args, **kwargs)

        return hanging


@pytest.fixture
def hang() -> Iterator[Hang]:
    """Asked for after the supervisor, so that it is over before that is closed."""
    hang = Hang()
    yield hang
    hang.is_over.set()


def soon(call: Callable[[], T]) -> T:
    """What the call returns, and no test that waits for ever."""
    return DetachedCalls("asked", 1).call_within(call, 60.0)


def warnings_of(store: DictStore, run_id: str) -> list[str]:
    return [event.text for event in store.events if event.run_id == run_id and event.kind == "warning"]


def test_hanging_log_at_start_costs_only_progress(
    supervisor: Supervisor, store: DictStore, hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launched_run, "read_bar", hang.within(launched_run.read_bar))
    supervisor.hold_queue(True)
    (bad,) = supervisor.launch_batch([request_for()], one_after_the_other=True)
    hang.word = bad.id
    soon(lambda: supervisor.hold_queue(False))
    assert hang.is_met.wait(60)
    other = soon(lambda: supervisor.launch(request_for()))
    wait_for_state(store, other.id, RunState.READY)
    soon(lambda: supervisor.stop(other.id))
    wait_for_state(store, other.id, RunState.FINISHED)
    wait_for_state(store, bad.id, RunState.READY)
    assert warnings_of(store, other.id) == []


def test_hanging_log_is_reported_and_run_can_stop(
    supervisor: Supervisor, store: DictStore, hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launched_run, "read_bar", hang.within(launched_run.read_bar))
    hang.word = "server.log"
    bad = supervisor.launch(request_for("never-ready"))
    wait_for(lambda: warnings_of(store, bad.id))
    soon(lambda: supervisor.stop(bad.id))
    wait_for_state(store, bad.id, RunState.FINISHED)
    assert warnings_of(store, bad.id) == [slow_reads.NO_BAR.format(bad.log_path)]


@pytest.mark.parametrize("text", ["the last lines", "the cause"])
def test_hanging_log_at_end_costs_only_last_words(
    text: str,
    make_supervisor: Callable[..., Supervisor],
    store: DictStore,
    hang: Hang,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(launched_run, "LONG_LOG_S", 1.0)
    if text == "the last lines":
        monkeypatch.setattr(launched_run, "log_tail", hang.within(launched_run.log_tail))
    supervisor = make_supervisor(explain_failure=hang.within(lambda run, exit_code: None))
    hang.word = "server.log"
    bad = supervisor.launch(request_for("exits"))
    assert hang.is_met.wait(60)
    hang.word = bad.id
    other = soon(lambda: supervisor.launch(request_for()))
    wait_for_state(store, other.id, RunState.READY)
    soon(lambda: supervisor.stop(other.id))
    wait_for_state(store, other.id, RunState.FINISHED)
    ended = wait_for_state(store, bad.id, RunState.FAILED)
    assert ended.cause == "The server exited with code 3 before it was ready."
    assert slow_reads.NO_LAST_WORDS.format(bad.log_path) in warnings_of(store, bad.id)


def test_hanging_open_files_keep_the_script_log(
    supervisor: Supervisor, store: DictStore, hang: Hang, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def output_of(pid: int | None) -> None:
        hang.is_met.set()
        hang.is_over.wait()

    monkeypatch.setattr(server_notes, "output_of", output_of)
    request = request_for()
    script = tmp_path / "serve.sh"
    script.write_text("exec " + " ".join(map(repr, request.config.argv[:1])) + ' "$@"\n')
    argv = ("bash", str(script), *request.config.argv[1:])
    config = Config(argv=argv, host="127.0.0.1", port=request.config.port)
    run = supervisor.launch(LaunchRequest(config, ready_path="/health"))
    assert hang.is_met.wait(60)
    assert wait_for_state(store, run.id, RunState.READY).log_path == run.log_path
    soon(lambda: supervisor.stop(run.id))
    wait_for_state(store, run.id, RunState.FINISHED)


def test_hanging_path_refuses_only_its_launch(
    supervisor: Supervisor, store: DictStore, hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "path_exists", hang.within(preflight.path_exists))
    hang.word = "/mnt/away/model"
    bad = request_for()
    bad = LaunchRequest(bad.config.model_copy(update={"model": hang.word}))
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(supervisor.launch, bad)
        assert hang.is_met.wait(60)
        other = pool.submit(supervisor.launch, request_for())
        wait_for_state(store, other.result(60).id, RunState.READY)
        with pytest.raises(LaunchRefusedError, match="is not responding: nothing was started"):
            waiting.result(60)
    hang.is_over.set()
    assert len(list(store.runs())) == 1


def test_hanging_runtime_delays_only_its_launch(
    supervisor: Supervisor, store: DictStore, hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtimes, "ask", hang.within(lambda *_, **__: None))
    monkeypatch.setattr(preflight, "check_executable", lambda *_: None)
    hang.word = "inspect"
    argv = ("podman", "run", "--name", "taken", "image", "--port", "1")
    with ThreadPoolExecutor() as pool:
        pool.submit(supervisor.launch, LaunchRequest(Config(argv=argv, port=1, launcher="podman")))
        assert hang.is_met.wait(60)
        hang.word = "nothing"
        wait_for_state(store, pool.submit(supervisor.launch, request_for()).result(60).id, RunState.READY)
        hang.is_over.set()


def test_all_launch_waits_share_one_deadline(
    supervisor: Supervisor, store: DictStore, hang: Hang, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its paths answer just in time, its container runtime never does, and the store not in what is left."""

    def late(path: Path) -> bool:
        time.sleep(2.5)
        return path.exists()

    (runtime := tmp_path / "podman").write_text("#!/bin/sh\nexec sleep 600 # FAKE: a runtime that hangs\n")
    runtime.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(preflight, "path_exists", late)
    monkeypatch.setattr(store, "runs", hang.within(store.runs))
    monkeypatch.setattr(store, "names_like", hang.within(store.names_like))
    hang.word = "("
    config = Config(argv=("podman", "run", "--name", "taken", "image", "--port", "1"), port=1, launcher="podman")
    begun_s = time.monotonic()
    with pytest.raises(SilentStoreError, match="nothing was started"):
        soon(lambda: supervisor.launch(LaunchRequest(config)))
    assert hang.is_met.is_set()
    assert time.monotonic() - begun_s < 2 * run_factory.DEADLINE_S, "each by a clock of its own, it is 10.5 s"


def test_hanging_data_folder_blocks_few_actions(
    supervisor: Supervisor, store: DictStore, hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a file system that is frozen: the folder of a new run and the file of the pause are written there."""
    run = soon(lambda: supervisor.launch(request_for()))
    wait_for_state(store, run.id, RunState.READY)
    supervisor.hold_queue(True)
    (waits,) = supervisor.launch_batch([request_for()], one_after_the_other=True)
    monkeypatch.setattr(run_factory, "DEADLINE_S", 0.5)
    monkeypatch.setattr(run_factory, "new_supervised_run", hang.within(run_factory.new_supervised_run))
    monkeypatch.setattr(queue, "write_json", hang.within(queue.write_json))
    hang.word = "a"  # whatever is written
    before = len(store.runs())
    with pytest.raises(SilentStoreError, match="nothing was started"):
        soon(lambda: supervisor.launch(request_for()))
    with pytest.raises(SilentStoreError, match="as soon as it responds"):
        soon(lambda: supervisor.hold_queue(False))
    soon(lambda: supervisor.cancel(waits.id))
    soon(lambda: supervisor.stop(run.id))
    wait_for_state(store, run.id, RunState.FINISHED)
    assert supervisor.is_queue_on_hold and len(store.runs()) == before
    hang.is_over.set()
    wait_for(lambda: not supervisor.is_queue_on_hold)
    assert len(store.runs()) == before, "what was refused does not start later"
