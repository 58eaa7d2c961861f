"""GPUs where there is none: a RECORDED provider (readings typed in, no hardware) under the collector."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from collectors.base import Clock, UnavailableError
from collectors.machine.gpu import Capabilities, GpuCollector, GpuReading
from commands.gpus import stated_gpus
from domain import Config, Run
from machine.process_start import process_start_s
from samples import GpuSample


class RecordedProvider:
    """Gives typed-in readings, one list per call."""

    def __init__(self, ticks: Iterable[list[GpuReading] | Exception]) -> None:
        self.ticks, self.calls = iter(ticks), 0

    def probe(self) -> Capabilities:
        return Capabilities(None, None, [])

    def sample(self) -> list[GpuReading]:
        self.calls += 1
        tick = next(self.ticks)
        if isinstance(tick, Exception):
            raise tick
        return tick

    def close(self) -> None: ...


def reading(index: int, processes: dict[int, int | None] | None = None, **values: Any) -> GpuReading:
    return GpuReading(index, {"power_w": 100.0, "gpu_uuid": f"GPU-{index}"} | values, {}, processes)


def samples(collector: GpuCollector, run: Run) -> list[GpuSample]:
    return [s for batch in collector.collect(run) for s in batch.samples if isinstance(s, GpuSample)]


def own_run(make_run: Callable[..., Run], **fields: Any) -> Run:
    return make_run(pid=os.getpid(), pid_birth_s=process_start_s(os.getpid()), **fields)


def test_run_keeps_the_gpus_of_its_processes(make_run: Callable[..., Run]) -> None:
    me = os.getpid()
    ticks = [
        [reading(0, {}), reading(1, {})],
        [reading(0, {1: 5}), reading(1, {me: 7})],
        [reading(0, {}), reading(1, {})],
    ]
    seconds = [0.0]
    collector = GpuCollector("here", RecordedProvider(ticks), clock=Clock(mono_s=lambda: seconds[0]))
    seen = []
    for _ in ticks:
        seen.append([(s.gpu_index, s.process_memory_bytes) for s in samples(collector, own_run(make_run))])
        seconds[0] += 1
    assert seen == [[(0, None), (1, None)], [(1, 7)], [(1, None)]]


def test_unknown_process_memory_has_its_reason(make_run: Callable[..., Run]) -> None:
    def why(gpu_reading: GpuReading, run: Run) -> str:
        (sample,) = samples(GpuCollector("here", RecordedProvider([[gpu_reading]])), run)
        assert sample.process_memory_bytes is None
        return sample.unknown["process_memory_bytes"]

    assert why(reading(0, {1: 5}), make_run()) == "the run's processes are not known"
    assert why(reading(0, {1: 5}), own_run(make_run)) == "none of the run's processes is visible on this GPU"
    assert why(reading(0, {os.getpid(): None}), own_run(make_run)) == "the driver does not report it by process"
    assert why(reading(0, None), own_run(make_run)) == "the driver does not list processes"


def test_foreign_gpu_use_is_apart_from_the_run(make_run: Callable[..., Run]) -> None:
    me = os.getpid()

    def only(gpu_reading: GpuReading) -> GpuSample:
        (sample,) = samples(GpuCollector("here", RecordedProvider([[gpu_reading]])), own_run(make_run))
        return sample

    both = reading(0, {me: 7, 1: 5, 2: 6})
    both.shares = {me: 0.5, 1: 0.3, 2: 0.1}
    shared = only(both)
    assert (shared.process_memory_bytes, shared.other_memory_bytes, shared.other_utilization_ratio) == (7, 11, 0.4)
    both.processes, both.shares, both.shares_unknown = {me: 7}, None, "this GPU does not report it"
    alone = only(both)
    assert (alone.other_memory_bytes, alone.other_utilization_ratio) == (0, None)
    assert alone.unknown == {"other_utilization_ratio": "this GPU does not report it"}
    both.processes, both.shares = {me: 7, 1: None}, {}
    hidden = only(both)
    assert (hidden.process_memory_bytes, hidden.other_memory_bytes, hidden.other_utilization_ratio) == (7, None, 0)
    assert hidden.unknown == {"other_memory_bytes": "the driver does not report it by process"}
    both.processes = {1: 5}
    unseen = only(both)  # as in a container, where the driver lists the numbers of another namespace
    assert (unseen.other_memory_bytes, unseen.other_utilization_ratio) == (None, None)
    assert unseen.unknown["other_memory_bytes"] == "none of the run's processes is visible on this GPU"


def test_runs_of_one_turn_share_one_look(make_run: Callable[..., Run]) -> None:
    provider, seconds = RecordedProvider([[reading(0)], [reading(0)]]), [0.0]
    collector = GpuCollector("here", provider, clock=Clock(mono_s=lambda: seconds[0]))
    samples(collector, make_run())
    seconds[0] += 0.1
    samples(collector, make_run(id="r2"))
    assert provider.calls == 1
    seconds[0] += 1
    samples(collector, make_run())
    assert provider.calls == 2


@pytest.mark.parametrize(
    ("fields", "texts"),
    [
        ({"gpus": "device=0,2"}, {"0", "2"}),
        ({"gpus": '"device=1"'}, {"1"}),
        ({"gpus": "nvidia.com/gpu=all"}, set()),
        ({"gpus": "nvidia.com/gpu=1"}, {"1"}),
        ({"gpus": "all"}, set()),
        ({"gpus": "2", "launcher": "docker"}, set()),
        ({"gpus": "2"}, {"2"}),
        ({"env": {"CUDA_VISIBLE_DEVICES": "GPU-1, 0"}}, {"GPU-1", "0"}),
        ({}, set()),
    ],
)
def test_the_gpus_a_config_names(fields: dict[str, Any], texts: set[str]) -> None:
    assert stated_gpus(Config(**fields)) == texts


def test_named_gpus_replace_unseen_processes(make_run: Callable[..., Run]) -> None:
    collector = GpuCollector("here", RecordedProvider([[reading(0), reading(1)]]))
    run = make_run().model_copy(update={"config": Config(gpus="device=1")})
    assert [s.gpu_index for s in samples(collector, run)] == [1]


def test_a_run_elsewhere_has_no_gpus_here(make_run: Callable[..., Run]) -> None:
    with pytest.raises(UnavailableError, match="another machine"):
        samples(GpuCollector("here", RecordedProvider([])), make_run(machine_id="there"))
