"""RECORDED looks of the GPU collector at a real H100 (tests/fixtures/nvml): what is told of a load and of others."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from analysis.runs.conditions import Conditions, Span, clocks, foreign_gpu_load
from samples import Batch, GpuSample
from storage.queries.condition_queries import conditions
from storage.store import Store

RECORDED = json.loads((Path(__file__).parents[2] / "fixtures/nvml/h100_looks.json").read_text())["runs"]
T0 = datetime(2026, 11, 22, 11, 30, tzinfo=UTC)
COLUMNS = (
    *("energy_j_total", "power_w", "utilization_ratio", "sm_clock_mhz"),
    *("throttle_reasons", "other_memory_bytes", "other_utilization_ratio"),
)
WORKED = [name for name in RECORDED if "beside work" in name]


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def conditions_of_recording(store: Store, name: str, without: tuple[str, ...] = ()) -> Conditions:
    """What is known of the load of a recorded run; `without`: columns that a GPU does not tell."""
    samples = [
        GpuSample(name, at(second), 100 + second, "m", 0, **look_of(values, without))
        for second, *values in RECORDED[name]["looks"]
    ]
    store.write(Batch(tuple(samples))).result()
    (condition,) = conditions(store, [Span(name, at(0), at(RECORDED[name]["seconds"]))])
    return condition


def look_of(values: list[Any], without: tuple[str, ...]) -> dict[str, Any]:
    return {column: value for column, value in zip(COLUMNS, values, strict=True) if column not in without}


@pytest.mark.parametrize("name", RECORDED)
def test_short_load_joules_come_from_the_counter(store: Store, name: str) -> None:
    """Looks a second apart, at ends that they do not meet: taken as they were, they were up to 4.7 % wrong."""
    counted = RECORDED[name]["counted_j"]
    assert conditions_of_recording(store, name).energy_j == pytest.approx(counted, rel=0.03)


def test_joules_without_counter_come_from_power(store: Store) -> None:
    counted = RECORDED["f16 #1"]["counted_j"]
    assert conditions_of_recording(store, "f16 #1", ("energy_j_total",)).energy_j == pytest.approx(counted, rel=0.1)


@pytest.mark.parametrize("name", WORKED)
def test_neighbour_is_seen_before_the_load(store: Store, name: str) -> None:
    """It worked for 2 or 10 % of the time and cost 4 to 10 % of the speed; during the load 0.2 % was told of it."""
    alone, beside = conditions_of_recording(store, "f16 #1"), conditions_of_recording(store, name)
    assert foreign_gpu_load([alone], [beside]).level == "matters"


@pytest.mark.parametrize(("name", "word"), [("f16 again #3", "same"), ("f16 beside memory #1", "warns")])
def test_memory_only_neighbour_does_not_refuse(store: Store, name: str, word: str) -> None:
    alone, beside = conditions_of_recording(store, "f16 #1"), conditions_of_recording(store, name)
    assert foreign_gpu_load([alone], [beside]).level == word
    assert clocks([alone], [beside]).level == "same"
