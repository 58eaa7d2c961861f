"""Repeats: the order of the rounds, what a batch of them is, and further ones of a run that has ended."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import WATCH, Run, RunState, WorkloadSpec
from launcher.checks.launch_request import LaunchRefusedError
from launcher.processes.process import read_spec
from launcher.runs.live_runs import UnknownRunError
from launcher.runs.rounds import NO_LOAD, repeat_requests, round_orders
from launcher.runs.supervisor import Supervisor
from tests.launcher.servers import DictStore, request_for, wait_for_state

LOAD = WorkloadSpec(name="load", params={"requests": 3})
FINAL = (RunState.FINISHED, RunState.FAILED)
ARMS = st.integers(1, 8)
SEEDS = st.integers(0, 2**31)


def load_argv(run: Run, directory: Path) -> list[str]:
    seconds = 600 if run.name.startswith("endless") else 0.1
    return [sys.executable, "-c", f"import time; time.sleep({seconds})"]


@given(ARMS, st.integers(1, 20), SEEDS)
def test_rounds_have_each_arm_and_alternate_order(arms: int, repeats: int, seed: int) -> None:
    order = round_orders(arms, repeats, seed)
    assert len(order) == repeats
    assert all(sorted(one) == list(range(arms)) for one in order)
    assert all(back == there[::-1] for there, back in zip(order[::2], order[1::2], strict=False))
    assert order == round_orders(arms, repeats, seed)


@given(ARMS, SEEDS)
def test_no_arm_comes_earlier_overall(arms: int, seed: int) -> None:
    places = Counter(
        (arm, at) for round_order in round_orders(arms, 2 * arms, seed) for at, arm in enumerate(round_order)
    )
    assert set(places.values()) == {2} and len(places) == arms * arms
    even = round_orders(arms, 4, seed)
    assert len({sum(one.index(arm) for one in even) for arm in range(arms)}) == 1


def test_another_seed_is_another_order() -> None:
    assert len({tuple(round_orders(5, 1, seed)[0]) for seed in range(50)}) > 20


def test_repeats_are_numbered_and_stop_servers() -> None:
    arms = [request_for(name=name, workload=LOAD, stop_when_done=False) for name in ("a", "b")]
    made_repeat_requests = repeat_requests(arms, 3, seed=7)
    assert [made_repeat_request.round for made_repeat_request in made_repeat_requests] == [1, 1, 2, 2, 3, 3]
    assert {made_repeat_request.name for made_repeat_request in made_repeat_requests} == {
        f"{arm} #{n}" for arm in "ab" for n in (1, 2, 3)
    }
    assert {
        (made_repeat_request.round_seed, made_repeat_request.stop_when_done)
        for made_repeat_request in made_repeat_requests
    } == {(7, True)}
    unnamed = repeat_requests([replace(arms[0], name=None)], 2, seed=7)
    program = Path(sys.executable).name
    assert [one.name for one in unnamed] == [f"Server, {program} #1", f"Server, {program} #2"]
    assert repeat_requests(arms, 1, seed=7) == arms, "one each is no repeat"


@pytest.mark.parametrize("times", [0, -1, 51])
def test_invalid_number_of_repeats_is_refused(times: int) -> None:
    with pytest.raises(LaunchRefusedError, match=f"repeated 1 to 50 times, not {times}"):
        repeat_requests([request_for(workload=LOAD)], times, seed=7)


@pytest.mark.parametrize("workload", [None, WATCH])
def test_repeats_without_an_end_are_refused(workload: WorkloadSpec | None) -> None:
    with pytest.raises(LaunchRefusedError, match=NO_LOAD):
        repeat_requests([request_for(workload=workload)], 2, seed=7)


@pytest.mark.wide
def test_repeat_batch_starts_servers_in_turn(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(prepare_workload=load_argv)
    arms = [request_for(name=name, workload=LOAD) for name in ("a", "b")]
    launch_batch = supervisor.launch_batch(repeat_requests(arms, 2, seed=3), one_after_the_other=True)
    ended = [wait_for_state(store, run.id, *FINAL) for run in launch_batch]
    assert [run.state for run in ended] == [RunState.FINISHED] * 4
    assert len({(run.pid, run.pid_birth_s) for run in ended}) == 4, "a server start each"
    (batch,) = {run.batch_id for run in ended}
    assert batch is not None
    by_start = sorted(ended, key=lambda run: run.began_at)
    first, second = [run.name for run in by_start[:2]], [run.name for run in by_start[2:]]
    assert sorted(first) == ["a #1", "b #1"] and second == [f"{name[0]} #2" for name in first[::-1]]
    assert [(run.round, run.round_seed) for run in by_start] == [(1, 3), (1, 3), (2, 3), (2, 3)]


@pytest.mark.wide
def test_ended_run_is_repeated_unchanged(
    make_supervisor: Callable[..., Supervisor], store: DictStore, tmp_path: Path
) -> None:
    supervisor = make_supervisor(prepare_workload=load_argv)
    request = request_for(name="mine", workload=LOAD, cwd=tmp_path, ready_timeout_s=77.0)
    first = supervisor.launch(request)
    was = wait_for_state(store, first.id, *FINAL)
    more = supervisor.repeat(first.id, 2)
    assert [(run.name, run.round) for run in more] == [("mine #2", 2), ("mine #3", 3)]
    wait_for_state(store, more[-1].id, *FINAL)
    (later,) = supervisor.repeat(more[-1].id, 1)
    assert (later.name, later.round) == ("mine #4", 4)
    (again,) = supervisor.repeat(first.id, 1)
    assert again.name == "mine #5", "whichever of them is repeated"
    ended = [wait_for_state(store, run.id, *FINAL) for run in (*more, later, again)]
    kept = ("config", "workload", "base_url", "ready_path", "ready_timeout_s", "stop_when_done", "state")
    for run in ended:
        assert run.cause is None
        assert [getattr(run, name) for name in kept] == [getattr(was, name) for name in kept]
        assert read_spec(Path(str(run.run_dir)))["cwd"] == str(tmp_path)
        assert (run.batch_id, run.pid == was.pid) == (first.id, False)


def test_unrepeatable_runs_are_refused(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(prepare_workload=load_argv)
    endless = supervisor.launch(request_for(name="endless", workload=LOAD))
    wait_for_state(store, endless.id, RunState.RUNNING)
    with pytest.raises(LaunchRefusedError, match="'endless' has not ended yet"):
        supervisor.repeat(endless.id, 2)
    supervisor.stop(endless.id)
    ended = wait_for_state(store, endless.id, *FINAL)
    with pytest.raises(LaunchRefusedError, match="repeated 1 to 50 times, not 0"):
        supervisor.repeat(endless.id, 0)
    store.save_run(ended.model_copy(update={"id": "watched", "workload": WATCH}))
    with pytest.raises(LaunchRefusedError, match=NO_LOAD):
        supervisor.repeat("watched", 2)
    store.save_run(ended.model_copy(update={"id": "imported", "kind": "imported"}))
    with pytest.raises(LaunchRefusedError, match="Pitwall did not start 'endless'"):
        supervisor.repeat("imported", 2)
    store.save_run(ended.model_copy(update={"id": "moved", "run_dir": "/nowhere"}))
    with pytest.raises(LaunchRefusedError, match="run directory of 'endless' is gone"):
        supervisor.repeat("moved", 2)
    with pytest.raises(UnknownRunError):
        supervisor.repeat("nobody", 2)
    assert supervisor.queued_runs() == []


def test_secret_from_environment_or_prompt(
    make_supervisor: Callable[..., Supervisor], store: DictStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    supervisor = make_supervisor(prepare_workload=load_argv)
    plain = request_for(name="endless", workload=LOAD)
    config = plain.config.model_copy(update={"env": {"HF_TOKEN": "hf_given_by_hand_1234"}})
    run = supervisor.launch(replace(plain, config=config, secrets={"HF_TOKEN": "hf_given_by_hand_1234"}))
    wait_for_state(store, run.id, RunState.RUNNING)
    supervisor.stop(run.id)
    wait_for_state(store, run.id, *FINAL)
    with pytest.raises(
        LaunchRefusedError, match=r"'HF_TOKEN' is a secret that Pitwall no longer has: relaunch 'endless'"
    ):
        supervisor.repeat(run.id, 1)
    monkeypatch.setenv("HF_TOKEN", "hf_of_pitwalls_own_12")
    (again,) = supervisor.repeat(run.id, 1)
    assert again.config.env == {"HF_TOKEN": "<secret>"}
    started = wait_for_state(store, again.id, RunState.RUNNING)
    assert psutil.Process(started.pid).environ()["HF_TOKEN"] == "hf_of_pitwalls_own_12"
