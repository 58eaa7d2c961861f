"""Samples accepted from an agent: GPU and host samples with finite numbers, and nothing else."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest

from collectors.agents.wire import MAX_BATCHES, RefusedError, read_message, sample_fields
from samples import GpuSample, HostSample
from tests.collectors.agents.conftest import NOW, batch, message


def test_samples_come_as_they_went() -> None:
    gpu = GpuSample("x", NOW, 7.5, "y", 3, gpu_name="H200", power_w=250.0, memory_used_bytes=5, unknown={"a": "why"})
    host = HostSample("x", NOW, 7.5, "y", host_cores=8, host_cpu_ratio=0.25)
    actual_batch = batch(1) | {
        name: [sample_fields(gpu) | {"t": NOW.timestamp()}] for name, gpu in (("gpus", gpu), ("hosts", host))
    }
    read = read_message(message(actual_batch), "r1")
    clock = {"clock_offset_s": -2.0, "clock_uncertainty_s": 0.001}
    [taken_batch] = read.batches
    for was, now in ((gpu, taken_batch.gpus[0]), (host, taken_batch.hosts[0])):
        expected = {field.name: getattr(was, field.name) for field in fields(was)}
        expected |= {"run_id": "r1", "machine_id": "worker", **clock}
        assert {field.name: getattr(now, field.name) for field in fields(now)} == expected


def test_run_comes_from_token_not_sample() -> None:
    with pytest.raises(RefusedError, match="does not know"):
        read_message(message(batch(1, gpu={"run_id": "r2"})), "r1")
    with pytest.raises(RefusedError, match="does not know"):
        read_message(message(batch(1, host={"machine_id": "head"})), "r1")


@pytest.mark.parametrize(
    "wrong",
    [
        {"gpu": {"power_w": float("nan")}},
        {"gpu": {"power_w": float("inf")}},
        {"gpu": {"power_w": -1.0}},
        {"gpu": {"power_w": "250"}},
        {"gpu": {"power_w": True}},
        {"gpu": {"memory_used_bytes": 1.5}},
        {"gpu": {"memory_used_bytes": 2**54}},
        {"gpu": {"gpu_name": "x" * 301}},
        {"gpu": {"unknown": {"a": 1}}},
        {"gpu": {"unknown": {str(n): "why" for n in range(41)}}},
        {"gpu": {"t": "now"}},
        {"gpu": {"t": 1e300}},
        {"gpu": {"t": True}},
        {"gpu": {"power_w": 10**400}},
        {"gpu": {"gpu_name": "\ud800"}},
        {"host": {"unknown": {"host_cores": "\udcff"}}},
        {"offset_s": 10**400},
        {"gpu": {"mono_s": None}},
        {"host": {"host_cores": [8]}},
        {"its_number": -1},
        {"its_number": 1.0},
        {"offset_s": float("inf")},
        {"uncertainty_s": "small"},
        {"gpus": {}},
        {"gpus": [1]},
        {"hosts": [batch(1)["hosts"][0]] * 2},
        {"events": []},
    ],
    ids=str,
)
def test_what_is_no_sample_is_refused_whole(wrong: dict[str, Any]) -> None:
    with pytest.raises(RefusedError):
        read_message(message(batch(1), batch(2, **wrong)), "r1")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b"[" * 100_000,
        b"\xff",
        message(agent="A" * 32),
        message(machine="../x"),
        message(machine=""),
        message(host=1),
        message(thinned=-1),
        message(batches=[{}] * (MAX_BATCHES + 1)),
        message(runs=[]),
        json.dumps({"agent": "a" * 32}).encode(),
        message(batch(1)).replace(b"250.0", b"1e999"),
        message(batch(1)).replace(b"250.0", b"9" * 5000),
    ],
    ids=range(15),
)
def test_what_is_no_message_is_refused(body: bytes) -> None:
    with pytest.raises(RefusedError):
        read_message(body, "r1")


def test_every_sample_field_is_type_checked() -> None:
    from collectors.agents.wire import _FIELD_TYPES, READER_FIELDS

    for kind, field_type in _FIELD_TYPES.items():
        assert field_type.keys() == {field.name for field in fields(kind)} - READER_FIELDS
        assert set(field_type.values()) <= {int, float, str, dict}
