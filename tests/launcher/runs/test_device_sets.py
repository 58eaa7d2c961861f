"""The queue per device set: what is known of a command's GPUs, and who waits for whom, on real processes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from commands.explain import explain
from domain import Config, Run, RunState, WorkloadSpec
from launcher.checks.launch_request import LaunchRequest
from launcher.runs.resource_claims import gpus_of, start_delays_s
from launcher.runs.supervisor import Supervisor
from tests.launcher.servers import DictStore, request_for, server_argv, wait_for, wait_for_state
from tests.ports import free_ports

LOAD = WorkloadSpec(name="load")


@pytest.mark.parametrize(
    ("command", "gpus"),
    [
        ("CUDA_VISIBLE_DEVICES=0 vllm serve m", {0}),
        ("env CUDA_VISIBLE_DEVICES=2,3 vllm serve m --tensor-parallel-size 2", {2, 3}),
        ("docker run --gpus '\"device=0,1\"' vllm/vllm-openai m", {0, 1}),
        ("docker run --gpus device=1 vllm/vllm-openai m", {1}),
        ("podman run --device nvidia.com/gpu=2 --device nvidia.com/gpu=3 vllm/vllm-openai m", {2, 3}),
        ("docker run -e NVIDIA_VISIBLE_DEVICES=3 -e CUDA_VISIBLE_DEVICES=0 vllm/vllm-openai m", {3}),
        ("vllm serve m", None),
        ("vllm serve m --tensor-parallel-size 2", None),
        ("CUDA_VISIBLE_DEVICES=GPU-8932f937 vllm serve m", None),
        ("CUDA_VISIBLE_DEVICES=-1 vllm serve m", None),
        ("docker run --gpus all vllm/vllm-openai m", None),
        ("docker run --gpus 2 vllm/vllm-openai m", None),
        ("docker run --gpus all -e CUDA_VISIBLE_DEVICES=0 vllm/vllm-openai m", None),
        ("podman run --device nvidia.com/gpu=all vllm/vllm-openai m", None),
    ],
)
def test_device_set_known_only_from_listed_gpus(command: str, gpus: set[int] | None) -> None:
    config = explain(command).config
    assert config and gpus_of(config) == gpus


@pytest.mark.wide
def test_other_gpus_pass_but_same_gpu_keeps_order(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(prepare_workload=endless_load)
    on = {"first": "0", "beside": "1", "same": "0", "whole": None, "behind": "2"}
    requests = [on_gpus(name, gpus) for name, gpus in on.items()]
    runs = {run.name: run for run in supervisor.launch_batch(requests, one_after_the_other=True)}

    def running() -> set[str]:
        return {run.name for run in store.runs() if run.state is RunState.RUNNING}

    wait_for(lambda: running() == {"first", "beside"}, 60)
    supervisor.tick()
    assert {run.name for run in supervisor.queued_runs()} == {"same", "whole", "behind"}
    ahead = {run.name: supervisor.queue_waits()[run.id].names_ahead for run in supervisor.queued_runs()}
    assert ahead == {"same": ("first",), "whole": ("first", "beside", "same"), "behind": ("whole",)}
    supervisor.skip(runs["first"].id)
    wait_for(lambda: running() == {"beside", "same"}, 60)
    supervisor.skip(runs["same"].id)
    wait_for_state(store, runs["same"].id, RunState.FINISHED)
    supervisor.tick()
    assert [run.name for run in supervisor.queued_runs()] == ["whole", "behind"], "the whole machine waits for GPU 1"
    supervisor.skip(runs["beside"].id)
    wait_for(lambda: running() == {"whole"}, 60)
    assert [run.name for run in supervisor.queued_runs()] == ["behind"]
    supervisor.skip(runs["whole"].id)
    wait_for(lambda: running() == {"behind"}, 60)


def test_shared_port_on_two_gpus_is_sequential(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(prepare_workload=endless_load)
    (port,) = free_ports(1)
    requests = [on_gpus("first", "0", port), on_gpus("second", "1", port)]
    first, second = supervisor.launch_batch(requests, one_after_the_other=True)
    wait_for_state(store, first.id, RunState.RUNNING)
    supervisor.tick()
    assert [run.name for run in supervisor.queued_runs()] == ["second"]
    supervisor.skip(first.id)
    assert wait_for_state(store, second.id, RunState.RUNNING, RunState.FAILED).state is RunState.RUNNING


def test_runs_side_by_side_delay_no_other() -> None:
    runs = [queued("0", 1), queued("1", 2), queued("0", 3), queued(None, 4)]
    assert start_delays_s(zip(runs, [10.0, 25.0, 10.0, 5.0], strict=True)) == [0.0, 0.0, 10.0, 25.0]
    assert start_delays_s([]) == []


def endless_load(run: Run, directory: Path) -> list[str]:
    return [sys.executable, "-c", "import time; time.sleep(600)"]


def on_gpus(name: str, gpus: str | None, port: int | None = None) -> LaunchRequest:
    port = port or free_ports(1)[0]
    config = Config(argv=server_argv(port), host="127.0.0.1", port=port, gpus=gpus)
    return request_for(port=port, config=config, name=name, workload=LOAD)


def queued(gpus: str | None, port: int) -> Run:
    config = Config(gpus=gpus)
    now = datetime(2026, 11, 21, tzinfo=UTC)
    return Run(
        id=str(port), name="", color=0, config=config, machine_id="m", base_url=f"http://h:{port}", created_at=now
    )
