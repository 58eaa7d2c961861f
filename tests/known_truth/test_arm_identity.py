"""Runs that form one arm, and runs that are never ranked, through the product's own door."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.guard import RowCode
from domain import Speculation
from tests.known_truth.import_door import PlayedStore
from tests.known_truth.paced_server import PacedServer
from tests.known_truth.played_run import PROVENANCE, WEIGHTS, PlayedArm
from web.compare.answer.sentence import answer_sentence

pytestmark = pytest.mark.wide

PLAIN = PacedServer(start_sd=0.005)
FASTER = replace(PLAIN, step_s=PLAIN.step_s / 1.4)
ONE_COMMAND: dict[str, Any] = {"unknown_flags": [], "argv": ("vllm", "serve", "m"), "served_model_name": "test-model"}


def model(path: str, headers: str | None) -> dict[str, Any]:
    """Return the configuration and provenance of a model at this path; config.json is the same for all."""
    weights = {**WEIGHTS, "sha256_of_headers": headers} if headers else None
    provenance = {"model": {**PROVENANCE["model"], "path": path, "weights": weights}}
    return {"config": {**ONE_COMMAND, "model": path}, "provenance": provenance}


TURBO = "/m/Qwen3.5-35B-NVFP4-Turbo"
NVIDIA = "/m/Qwen3.5-35B-NVFP4"


@pytest.mark.parametrize("headers", [("turbo", "nvidia"), (None, None)])
def test_two_models_of_one_config_are_two_arms(played: PlayedStore, headers: tuple[str | None, str | None]) -> None:
    arms = [
        PlayedArm("vLLM, test-model", PLAIN, logged=logged, **model(path, header))
        for path, header, logged in (
            (TURBO, headers[0], {"model_load_gib": 18.5, "kv_cache_tokens": 410_000}),
            (NVIDIA, headers[1], {"model_load_gib": 31.0, "kv_cache_tokens": 300_000}),
        )
    ]
    report = played.report(played.play(arms, 3))
    assert [len(arm.runs) for arm in report.arms] == [3, 3]
    names = [arm.name for arm in report.arms]
    assert "NVFP4-Turbo · 18.5 GiB" in names[0] and "NVFP4 · 31 GiB" in names[1]


def test_one_model_at_two_paths_is_one_arm(played: PlayedStore) -> None:
    arms = [PlayedArm("a", PLAIN, **model(path, "same")) for path in (TURBO, "/copy/another-name")]
    (arm,) = played.report(played.play(arms, 2)).arms
    assert len(arm.runs) == 4


NEUTRAL: list[dict[str, Any]] = [
    {"unknown_flags": ["--disable-log-requests", "--uvicorn-log-level warning"]},
    {"env": {"VLLM_LOGGING_LEVEL": "DEBUG", "HF_HOME": "/cache", "PYTHONUNBUFFERED": "1"}},
    {"engine": "sglang", "unknown_flags": ["--log-level-http=error"]},
    {"engine": "llamacpp", "unknown_flags": ["--no-webui", "-lv 1"], "env": {"LLAMA_ARG_LOG_PREFIX": "1"}},
]


@pytest.mark.parametrize("settings", NEUTRAL)
def test_what_a_server_logs_splits_no_arm(played: PlayedStore, settings: dict[str, Any]) -> None:
    plain = {**ONE_COMMAND, "engine": settings.get("engine", "vllm")}
    arms = [PlayedArm("a", PLAIN, config=plain), PlayedArm("b", PLAIN, config={**plain, **settings})]
    (arm,) = played.report(played.play(arms, 2)).arms
    assert len(arm.runs) == 4


@pytest.mark.parametrize(
    "settings", [{"unknown_flags": ["--swap-space 8"]}, {"env": {"VLLM_ATTENTION_BACKEND": "FLASHINFER"}}]
)
def test_what_a_server_computes_with_splits_arms(played: PlayedStore, settings: dict[str, Any]) -> None:
    arms = [PlayedArm("a", PLAIN, config=ONE_COMMAND), PlayedArm("b", PLAIN, config={**ONE_COMMAND, **settings})]
    assert len(played.report(played.play(arms, 2)).arms) == 2


SYNTHETIC = {"rejection_sample_method": "synthetic", "synthetic_acceptance_length": 3.5}
FORCED: list[tuple[str, dict[str, Any]]] = [
    ("vllm", {"speculative": Speculation(method="mtp", num_tokens=3, options=SYNTHETIC)}),
    ("sglang", {"env": {"SGLANG_SIMULATE_ACC_LEN": "3.5"}}),
    ("trtllm", {"env": {"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS": "2"}}),
    ("llamacpp", {"unknown_flags": ["--spec-synth-len 2.5"]}),
]


@pytest.mark.parametrize(("engine", "switch"), FORCED, ids=[engine for engine, _ in FORCED])
def test_forced_acceptance_is_never_better(played: PlayedStore, engine: str, switch: dict[str, Any]) -> None:
    plain = PlayedArm("a", PLAIN, config={"engine": engine})
    forced = PlayedArm("b", FASTER, config={"engine": engine, **switch})
    for objective in ("decode_tps", "output_tps@4"):
        answer = played.answer([plain, forced], objective, 3)
        assert RowCode.FORCED_ACCEPTANCE in [row.code for row in answer.refused]
        assert "is not ranked against" in answer_sentence(answer, {}) and "not real" in answer_sentence(answer, {})


def test_forced_acceptance_by_its_log_alone(played: PlayedStore) -> None:
    forced = PlayedArm("b", FASTER, logged={"forced_acceptance": "rejection_sample_method synthetic"})
    answer = played.answer([PlayedArm("a", PLAIN), forced], "decode_tps", 3)
    assert [row.code for row in answer.refused] == [RowCode.FORCED_ACCEPTANCE]


def test_sampling_of_the_models_files_differs(played: PlayedStore) -> None:
    logged = {"default_sampling": {"repetition_penalty": 1.3}}
    answer = played.answer([PlayedArm("a", PLAIN), PlayedArm("b", PLAIN, logged=logged)], "decode_tps", 3)
    assert [row.code for row in answer.refused] == [RowCode.SAMPLING]
