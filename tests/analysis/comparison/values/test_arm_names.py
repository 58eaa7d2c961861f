"""Names of arms: no two are equal, and unlike weights are always in them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.comparison.arm_names import name_arms
from analysis.comparison.arms import arms_of
from analysis.comparison.config_diff import chips, distinct_chips
from analysis.comparison.facts import RunFacts
from analysis.comparison.model_names import weights_name
from commands.naming import describe
from domain import Config, Speculation
from tests.analysis.comparison.hand_made import load, run, streams
from tests.analysis.comparison.ideal_engine import SERVED

NAME = "vLLM, test-model, speculation k=4"
TURBO = {"model": "/m/Qwen3.5-35B-NVFP4-Turbo", "model_files": "f1", "weights_gib": 18.5}
NVIDIA = {"model": "/m/Qwen3.5-35B-NVFP4", "model_files": "f2", "weights_gib": 31.0}


def serving(run_id: str, name: str = NAME, **fields: Any) -> RunFacts:
    return replace(run(run_id, load(streams(1)), served=replace(SERVED, **fields)), name=name)


def test_unlike_weights_are_in_each_name() -> None:
    runs = [serving("a", **TURBO), serving("b", f"{NAME} (2)", **NVIDIA), serving("c", "turbo again", **TURBO)]
    assert name_arms(runs) == [
        f"{NAME} · Qwen3.5-35B-NVFP4-Turbo · 18.5 GiB",
        f"{NAME} · Qwen3.5-35B-NVFP4 · 31 GiB",
        "turbo again · Qwen3.5-35B-NVFP4-Turbo",
    ]


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"settings": {"max_model_len": 8192}}, ["max_model_len 4096", "max_model_len 8192"]),
        ({"settings": {}}, ["max_model_len 4096", "max_model_len unset"]),
        ({"engine_version": "0.34.0"}, ["0.33.0", "0.34.0"]),
        ({"gpus": ("H100", "H100")}, ["1 x H100", "2 x H100"]),
        ({"image": "reg/vllm@sha256:0123456789abcdef"}, ["no container", "vllm@01234567"]),
    ],
)
def test_a_shared_name_gets_what_differs(fields: dict[str, Any], names: list[str]) -> None:
    first, second = serving("a", "k 4 #1"), serving("b", "k 4 #1", **fields)
    assert [arm.name for arm in arms_of([first, second])] == [f"k 4 · {text}" for text in names]


def test_equal_setups_are_named_by_their_runs() -> None:
    arms = arms_of([serving("a", "k #1"), serving("b", "k #2"), serving("c", "k #2")], separate_ids=["a", "b", "c"])
    assert [arm.name for arm in arms] == ["k #1", "k #2 · b", "k #2 · c"]
    assert len({arm.key for arm in arms}) == 3


def test_copies_of_a_name_keep_their_numbers() -> None:
    arms = arms_of([serving("a", "bench"), serving("b", "bench (2)")], separate_ids=["a", "b"])
    assert [arm.name for arm in arms] == ["bench", "bench (2)"]


def test_names_that_differ_stay_as_they_are() -> None:
    first, second = serving("a", "plain #1"), serving("b", "fast (2)", settings={"max_model_len": 8192})
    assert [arm.name for arm in arms_of([first, second])] == ["plain", "fast (2)"]


def test_weights_are_named_as_written() -> None:
    folder = f"/root/hub/models--Qwen--Qwen3-8B/snapshots/{'a' * 40}"
    names = {"org/Qwen3-32B-FP8": "Qwen3-32B-FP8", "/m/Qwen3/Q8_0.gguf": "Qwen3 Q8_0", folder: "Qwen3-8B"}
    assert {path: weights_name(path) for path in names} == names


def test_a_description_has_the_weights() -> None:
    config = Config(engine="vllm", model="/m/A-NVFP4-Turbo", served_model_name="test", speculative=Speculation())
    assert describe(config) == "vLLM, A-NVFP4-Turbo, speculation"
    assert "A-NVFP4-Turbo" in chips(config.model_dump(), "vLLM")


def test_chips_of_unlike_configs_differ() -> None:
    base = {"engine": "vllm", "model": "m", "unknown_flags": ["--x", "--y 1"], "port": 1}
    fields = [{**base, "unknown_flags": ["--x"], "port": 2}, {**base, "model": "n"}]
    assert distinct_chips([base, *fields], ["vLLM"] * 3) == [
        ["vLLM", "m", "--y 1"],
        ["vLLM", "m", "no more unknown flags"],
        ["vLLM", "n"],
    ]
    assert distinct_chips([base, base], ["vLLM"] * 2) == [["vLLM", "m"]] * 2
