"""A store that takes nothing, as on a full disk: every button answers, and no server starts that is not recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from domain import STORE_REFUSED, RunState
from launcher.runs import run_factory
from launcher.runs.supervised_runs import launched_run
from launcher.runs.supervisor import Supervisor
from service.core import Core, opened_core
from settings import Settings
from tests.launcher.servers import StuckStore, request_for, wait_for, wait_for_state
from tests.ports import free_ports

pytestmark = pytest.mark.wide

SWEEP = 128
ANSWER_S = 5.0


@pytest.fixture
def store() -> StuckStore:
    return StuckStore(is_stuck=False)


def states_of(supervisor: Supervisor) -> dict[str, RunState]:
    return {run.id: run.state for run in supervisor.live_runs()}


def timed(call: Callable[[], object]) -> float:
    begun_s = time.monotonic()
    call()
    return time.monotonic() - begun_s


def test_every_button_answers_during_sweep_launch(store: StuckStore, supervisor: Supervisor) -> None:
    run = supervisor.launch(request_for())
    wait_for_state(store, run.id, RunState.READY)
    port = free_ports(1)[0]
    waiting = supervisor.launch_batch([request_for(port=port)] * 3, one_after_the_other=True)
    supervisor.hold_queue(True)
    store.is_stuck = True
    before = len(store.given)
    with ThreadPoolExecutor() as pool:
        sweep = pool.submit(lambda: supervisor.launch_batch([request_for(port=port)] * SWEEP, one_after_the_other=True))
        wait_for(lambda: len(store.given) > before)
        took_s = {
            "cancel": timed(lambda: supervisor.cancel(waiting[0].id)),
            "reorder": timed(lambda: supervisor.reorder_queue([waiting[2].id])),
            "rename": timed(lambda: supervisor.rename(waiting[1].id, "other")),
            "stop": timed(lambda: supervisor.stop(run.id)),
            "tick": timed(supervisor.tick),
        }
        made = sweep.result(60)
        took_s["reorder all"] = timed(lambda: supervisor.reorder_queue([one.id for one in reversed(made)]))
    assert {name: took for name, took in took_s.items() if took >= ANSWER_S} == {}
    assert sorted(len(runs) for runs in store.given)[-2:] == [SWEEP, SWEEP + 2], "those of a sweep are stored together"
    store.take_all()
    for one in (*waiting, *made):
        supervisor.cancel(one.id)


def test_server_starts_once_stored_unawaited(
    store: StuckStore, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launched_run, "STORED_WITHIN_S", 60.0)
    store.is_stuck = True
    runs = supervisor.launch_batch([request_for(), request_for()], one_after_the_other=False)
    wait_for(lambda: states_of(supervisor) == dict.fromkeys([run.id for run in runs], RunState.STARTING))
    assert timed(supervisor.tick) < 1.0
    assert not any((Path(str(run.run_dir)) / "shim.log").exists() for run in runs), "it is not started yet"
    assert supervisor.stop(runs[1].id).state is RunState.STOPPING
    wait_for(lambda: list(states_of(supervisor)) == [runs[0].id])
    store.take_all()
    wait_for_state(store, runs[1].id, RunState.FINISHED)
    wait_for_state(store, runs[0].id, RunState.READY)
    assert not (Path(str(runs[1].run_dir)) / "shim.log").exists()


def test_unstored_server_is_not_started(
    store: StuckStore, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launched_run, "STORED_WITHIN_S", 0.3)
    store.is_stuck = True
    run = supervisor.launch(request_for())
    wait_for(lambda: not supervisor.queued_runs() and not supervisor.live_runs())
    store.take_all()
    ended = wait_for_state(store, run.id, RunState.FAILED)
    assert ended.cause == STORE_REFUSED
    assert not (Path(str(run.run_dir)) / "shim.log").exists()


def test_unstored_runs_are_marked(store: StuckStore, supervisor: Supervisor) -> None:
    supervisor.hold_queue(True)
    store.is_stuck = True
    port = free_ports(1)[0]
    made = [supervisor.launch_batch([request_for(port=port)], one_after_the_other=True)[0] for _ in range(2)]
    assert [run.name for run in made] == ["plain", "plain (2)"]
    assert [run.color for run in made] == [0, 0], "the same command"
    store.take_all()


def test_unstored_end_allows_a_rename_afterwards(
    store: StuckStore, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = supervisor.launch(request_for())
    wait_for_state(store, run.id, RunState.READY)
    store.is_stuck = True
    supervisor.stop(run.id)
    wait_for(lambda: not supervisor.live_runs())
    monkeypatch.setattr(run_factory, "DEADLINE_S", 1.0)
    assert timed(lambda: supervisor.rename(run.id, "other")) < ANSWER_S
    with pytest.raises(run_factory.SilentStoreError):
        supervisor.repeat(run.id, 1)
    store.take_all()
    renamed = wait_for(lambda: (known := store.run(run.id)) and known.name == "other" and known)
    assert renamed.state is RunState.FINISHED


@pytest.fixture
def core(tmp_path: Path) -> Iterator[Core]:
    with opened_core(Settings(data_dir=tmp_path / "data")) as core:
        yield core
        core.supervisor.close(stop_servers=True)


@pytest.mark.publishes
def test_the_end_of_a_run_asks_the_store_nothing(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    run = core.supervisor.launch(request_for())
    wait_for_state(core.store, run.id, RunState.READY)
    real_end, ended = core.loop.end, []
    monkeypatch.setattr(core.loop, "end", lambda run: ended.append(run) or real_end(run))

    def silent(run_id: str) -> None:
        pytest.fail("the store is asked")

    with monkeypatch.context() as patched:
        patched.setattr(core.store, "run", silent)
        core.supervisor.stop(run.id)
        wait_for(lambda: not core.supervisor.live_runs())
    assert [one.state for one in ended if one.ended_at][:1] == [RunState.FINISHED]
