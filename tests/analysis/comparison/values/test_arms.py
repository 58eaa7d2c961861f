"""Runs that repeat each other: by everything that matters, and by path, executable and machine if it is not known."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from analysis.comparison.arm_differences import (
    ArmDifference,
    differences_between,
    signature_of,
    unknown_of,
    workload_of,
)
from analysis.comparison.arms import Arm, arm_key, arms_of, is_repeat
from analysis.comparison.facts import RunFacts, ServerSetup
from tests.analysis.comparison.hand_made import load, run, streams
from tests.analysis.comparison.ideal_engine import SERVED, T0

COMMAND = ("vllm", "serve", "org/model")


def serving(run_id: str = "a", workload: dict[str, Any] | None = None, **fields: Any) -> RunFacts:
    return run(run_id, load(streams(1), **(workload or {})), served=replace(SERVED, **fields))


def split_by(first: RunFacts, second: RunFacts) -> list[ArmDifference]:
    return list(differences_between(signature_of(first), signature_of(second)))


def arms(*runs: RunFacts, **how: Any) -> list[list[str]]:
    return [[run.run_id for run in arm.runs] for arm in arms_of(runs, **how)]


def test_equal_runs_are_one_arm_in_start_order() -> None:
    late, early = (
        replace(serving(name), began_at=T0 + timedelta(hours=h)) for name, h in (("a late", 2), ("early", 1))
    )
    (arm,) = arms_of([late, early])
    assert [run.run_id for run in arm.runs] == ["early", "a late"] and arm.id == "early"
    assert arm.unknown == () and arm.left_out == {} and arm.key == arm_key(late) and len(arm.key) == 12
    assert arms(serving("b"), serving("a")) == [["a", "b"]], "without a time by their ids"
    spelled = [serving(settings=dict(pairs)) for pairs in ([("x", 1), ("y", T0)], [("y", T0), ("x", 1)])]
    assert arm_key(spelled[0]) == arm_key(spelled[1]), "in whatever order, of whatever kind"


def test_arm_name_omits_the_repeat_number() -> None:
    assert Arm("k", (replace(serving(), name="k 4 #12"),)).name == "k 4"
    assert Arm("k", (replace(serving(), name="#12 of k"),)).name == "#12 of k"


@pytest.mark.parametrize(
    "fields",
    [
        {"engine": "sglang"},
        {"engine_version": "0.34.0"},
        {"image": "x@sha256:1"},
        {"model_files": "f2"},
        {"gpus": ("H200",)},
        {"settings": {"max_model_len": 8192}},
    ],
)
def test_what_makes_two_arms(fields: dict[str, Any]) -> None:
    a, b = serving("a"), serving("b", **fields)
    assert not is_repeat(a, b) and not is_repeat(b, a)
    assert arms(a, b) == [["a"], ["b"]] and arm_key(a) != arm_key(b)
    ((name, value),) = fields.items()
    told = ("settings.max_model_len", (4096, 8192)) if name == "settings" else (name, (getattr(SERVED, name), value))
    assert split_by(a, b) == [ArmDifference(*told)]


def test_place_and_spelling_make_no_new_arm() -> None:
    a, b = serving("a"), serving("b", machine_id="m2", command=COMMAND, model="/elsewhere/another-name")
    assert is_repeat(a, b) and arm_key(a) == arm_key(b)


TURBO = {"model": "/m/Qwen3.5-35B-NVFP4-Turbo", "weights_gib": 18.5, "kv_cache_tokens": 410_000}
NVIDIA = {"model": "/m/Qwen3.5-35B-NVFP4", "weights_gib": 31.0, "kv_cache_tokens": 300_000}


def test_unread_weights_at_two_paths_are_two_arms() -> None:
    gap = {"model_files": None, "command": COMMAND}
    a, b = serving("a", **gap, **TURBO), serving("b", **gap, **NVIDIA)
    assert arms(a, b) == [["a"], ["b"]] and arm_key(a) != arm_key(b)
    assert split_by(a, b) == [
        ArmDifference("model", (TURBO["model"], NVIDIA["model"]), "model_files"),
        ArmDifference("weights_gib", (18.5, 31.0)),
        ArmDifference("kv_cache_tokens", (410_000, 300_000)),
    ]


@pytest.mark.parametrize(
    ("name", "values", "is_split"),
    [
        ("weights_gib", (18.51, 18.5), False),
        ("weights_gib", (1.0, 1.25), False),  # rounding, and memory of other processes
        ("weights_gib", (18.5, 19.5), True),
        ("kv_cache_tokens", (410_000, 390_000), False),
        ("kv_cache_tokens", (410_000, 360_000), True),
        ("kv_cache_tokens", (410_000, None), False),
    ],
)
def test_logged_memory_splits_beyond_its_noise(name: str, values: tuple[Any, Any], is_split: bool) -> None:
    a, b = (serving(run_id, **{name: value}) for run_id, value in zip("ab", values, strict=True))
    assert is_repeat(a, b) is is_repeat(b, a) is not is_split
    assert [difference.fact for difference in split_by(a, b)] == ([name] if is_split else [])


@pytest.mark.parametrize("asked", [{"workload": "ladder"}, {"prompt_set_hash": "x"}, {"params": {"t": 1}}])
def test_another_load_makes_another_arm(asked: dict[str, Any]) -> None:
    a, b = serving("a"), serving("b", asked)
    assert arms(a, b) == [["a"], ["b"]] and arm_key(a) != arm_key(b)


def test_loads_are_told_by_what_was_asked() -> None:
    twice = run("a", *[load(streams(1), params={"b": 1, "a": 2})] * 2)
    assert workload_of(twice) == ['["w", "h", {"a": 2, "b": 1}]']
    older = run("a", replace(load(streams(1)), plan=None), workload="ladder")
    assert workload_of(older) == ['["ladder"]'] == workload_of(run("a", workload="ladder"))
    assert workload_of(run("a")) == ["[null]"]


UNKNOWN = [{"model_files": None}, {"engine_version": None}, {"gpus": None}]
IMPLYING = {"model_files": {"model": "org/other"}, "engine_version": {"command": ("/venv/vllm",)}, "gpus": {}}


@pytest.mark.parametrize("gap", UNKNOWN)
def test_path_and_machine_imply_unknown_facts(gap: dict[str, Any]) -> None:
    known_serving, early = (
        serving("a", command=COMMAND),
        serving("b", command=("vllm", "serve", "--model", "org/model"), **gap),
    )
    (arm,) = arms_of([early, known_serving])
    assert [run.run_id for run in arm.runs] == ["a", "b"] and arm.unknown == tuple(gap)
    assert arm.key == arm_key(known_serving), "that of the run of which most is known"
    (name,) = gap
    for fields in ({"machine_id": "m2"}, IMPLYING[name]):
        stranger = serving("c", **({"command": COMMAND} | gap | fields))
        assert is_repeat(known_serving, stranger) is (fields == {})
        assert all(difference.stands_for == name for difference in split_by(known_serving, stranger))
    assert not is_repeat(serving("c", command=COMMAND, settings={}), early), "what is known is unlike"
    twin = serving("c", command=COMMAND, **gap)
    assert is_repeat(early, twin) and arm_key(early) == arm_key(twin) != arm_key(known_serving)
    assert arm_key(serving(command=COMMAND, machine_id="m2", **gap)) != arm_key(early)


@pytest.mark.parametrize("gap", [*UNKNOWN, {"is_configuration_known": False}])
def test_unknown_without_command_stays_unknown(gap: dict[str, Any]) -> None:
    """Two servers that somebody attached: neither says how it was started, and that makes them no repeats."""
    assert arms(serving("a", **gap), serving("b", **gap)) == [["a"], ["b"]]


def test_a_run_that_fits_two_arms_is_of_neither() -> None:
    one, other_serving = serving("a", command=COMMAND), serving("b", command=COMMAND, model_files="f2")
    assert arms(serving("c", command=COMMAND, model_files=None), one, other_serving) == [["c"], ["a"], ["b"]]


def test_apart_and_left_out() -> None:
    runs = [serving(name) for name in "abcd"]
    assert arms(*runs, separate_ids=["b"]) == [["a", "c", "d"], ["b"]]
    (arm,) = arms_of(runs, left_out={"a": "somebody compiled", "x": "of another arm"})
    assert [run.run_id for run in arm.runs] == ["b", "c", "d"] and arm.left_out == {"a": "somebody compiled"}
    assert arms(*runs, separate_ids=["b"], left_out={"b": "x"}) == [["a", "c", "d"]]
    assert arms() == []
    gone_serving = serving("e", command=COMMAND, model_files=None)
    assert arms_of([serving("a", command=COMMAND), gone_serving], left_out={"e": "x"})[0].unknown == ()


def test_what_is_not_known_of_a_server() -> None:
    bare = ServerSetup("vllm", "m1", is_configuration_known=False)
    assert unknown_of(bare) == ("model_files", "engine_version", "gpus", "configuration")
    assert unknown_of(replace(bare, image="x@sha256:1")) == ("model_files", "gpus", "configuration")
    assert unknown_of(SERVED) == () and unknown_of(replace(SERVED, gpus=())) == ()
