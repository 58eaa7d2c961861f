"""Numbers that cannot be never become samples, and are counted on the collector's health."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from collectors.endpoints.endpoint import EndpointCollector
from collectors.loop import CollectorLoop
from collectors.value_limits import without_impossible
from domain import Run
from samples import LARGEST_COUNT, Batch, CollectorHealth, CounterSample, Event, GpuSample, LogSample
from tests.hostile_server import HostileServer, hostile_server

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture
def hostile() -> Iterator[HostileServer]:
    with hostile_server() as server:
        yield server


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (math.nan, "not a number"),
        (math.inf, "infinite"),
        (-math.inf, "infinite"),
        (float("1e309"), "infinite"),
        (-1.0, "negative"),
        (1e18, "more than 2^53"),
        (10**30, "more than 2^53"),
    ],
)
def test_impossible_number_is_unknown_alone(value: float, why: str) -> None:
    sample = CounterSample("r", NOW, 1.0, "vllm.counter", generation_tokens_total=value, requests_running=2.0)
    batch, refused = without_impossible(Batch((sample,)))
    (kept_sample,) = batch.samples
    assert isinstance(kept_sample, CounterSample)
    assert (kept_sample.generation_tokens_total, kept_sample.requests_running) == (None, 2.0)
    assert refused == {("generation_tokens_total", why)}


def test_list_with_a_bad_number_is_unknown_whole() -> None:
    sample = LogSample("r", NOW, 0, 1, "vllm.log", per_position=[0.9, math.nan, 0.1])
    batch, refused = without_impossible(Batch((sample,)))
    assert batch.samples == (LogSample("r", NOW, 0, 1, "vllm.log"),)
    assert refused == {("per_position", "not a number")}


def test_what_can_be_is_left_as_it_is() -> None:
    cold = GpuSample(None, NOW, 1.0, "m", 0, temperature_c=-4.0, memory_total_bytes=int(LARGEST_COUNT), gpu_name="-1")
    batch = Batch((cold, Event("r", NOW, "warning", "inf")))
    assert without_impossible(batch) == (batch, set())


def test_scrape_of_bad_numbers_reported_once(hostile: HostileServer, kept: Any, make_run: Callable[..., Run]) -> None:
    hostile.way = "impossible"
    run = make_run("vllm", base_url=hostile.url)
    loop = CollectorLoop(kept, lambda: [run], [EndpointCollector(period_s=0.02)], update_every_s=0.02)
    loop.start()
    kept.wait_for(lambda: len(kept.of(CounterSample)) > 30)
    loop.stop(5.0)
    assert {s.generation_tokens_total for s in kept.of(CounterSample)} == {None, 450.0}
    assert {s.requests_running for s in kept.of(CounterSample)} == {2.0}
    (told,) = kept.of(Event)
    assert told.kind == "collector"
    assert told.text == (
        "impossible value left out: generation_tokens_total is infinite; generation_tokens_total is more than 2^53; "
        "generation_tokens_total is negative"
    )
    health = kept.of(CollectorHealth)[-1]
    assert health.ok and "generation_tokens_total negative, 1 times" in health.error
