"""An edited Config keeps its own words: only what changed is said anew, and it reads as the edited Config."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.comparison.config_diff import differing_fields
from commands.explain import explain, read_argv
from commands.write import command_of
from domain import Config, Speculation

SERVE = "vllm serve o/m --max-model-len 16K --trust-remote-code --enable-prefix-caching -q modelopt"
NGRAM = """vllm serve o/m --speculative-config '{"method":"ngram","prompt_lookup_max":4,"num_speculative_tokens":5}'"""
DOCKER = "docker run -d --shm-size 16G -v /models -p 8001:8000 vllm/vllm-openai:x --model /models/m --port 8000"
SCRIPT = "~/x/launch-cluster.sh -t tf5 --solo -d exec vllm serve o/m --port 8000 --load-format instanttensor"


def read(paste: str) -> Config:
    config = explain(paste).config
    assert config
    return config


@pytest.mark.parametrize(
    ("paste", "update", "texts", "new"),
    [
        (SERVE, {"max_model_len": 8192}, ["16K"], ["8192"]),
        (SERVE, {"quantization": None}, ["-q", "modelopt"], []),
        (SERVE, {"prefix_caching": False}, ["--enable-prefix-caching"], ["--no-enable-prefix-caching"]),
        (SERVE, {"model": "o/other"}, ["o/m"], ["o/other"]),
        (SERVE, {"unknown_flags": ["--async-scheduling"]}, ["--trust-remote-code"], ["--async-scheduling"]),
        (DOCKER, {"model": "/models/n"}, ["/models/m"], ["/models/n"]),
        (DOCKER, {"port": 9000}, ["8001:8000"], ["9000:8000"]),
        (DOCKER, {"image": "vllm/vllm-openai:y"}, ["vllm/vllm-openai:x"], ["vllm/vllm-openai:y"]),
        (DOCKER, {"env": {"A": "1"}}, [], ["-e", "A=1"]),
        (SCRIPT, {"kv_cache_dtype": "fp8"}, [], ["--kv-cache-dtype", "fp8"]),
        (
            "python -m demo serve -m /m.gguf -c 2048 --port 80 --slots",
            {"max_num_seqs": 2, "max_model_len": 512},
            ["-c", "2048"],
            ["--ctx-size", "512", "--parallel", "2"],
        ),
    ],
)
def test_only_what_changed_is_said_anew(paste: str, update: dict[str, Any], texts: list[str], new: list[str]) -> None:
    config = read(paste)
    edited = config.model_copy(update=update)
    words = command_of(edited)
    argv = list(config.argv)
    for word in texts:
        argv.remove(word)
    left_words = list(words)
    for word in new:
        left_words.remove(word)
    assert sorted(left_words) == sorted(argv)
    again = read_argv(words, edited.env)
    assert again and again.model_copy(update={"argv": (), "engine_version": None}) == edited.model_copy(
        update={"argv": (), "engine_version": None}
    )


def test_every_speculative_key_round_trips() -> None:
    config = read(NGRAM)
    assert config.speculative and config.speculative.options == {"prompt_lookup_max": 4}
    fewer = config.speculative.model_copy(update={"num_tokens": 2})
    words = command_of(config.model_copy(update={"speculative": fewer}))
    assert words[-1] == '{"method":"ngram","prompt_lookup_max":4,"num_speculative_tokens":2}'
    longer = config.speculative.model_copy(update={"options": {"prompt_lookup_max": 8}})
    words = command_of(config.model_copy(update={"speculative": longer}))
    assert words[-1] == '{"method":"ngram","prompt_lookup_max":8,"num_speculative_tokens":5}'
    words = command_of(config.model_copy(update={"speculative": Speculation(method="ngram", num_tokens=5)}))
    assert words[-1] == '{"method":"ngram","num_speculative_tokens":5}'
    assert "--speculative-config" not in command_of(config.model_copy(update={"speculative": None}))


LOOKUP = """vllm serve m --speculative-config '{"method":"ngram","num_speculative_tokens":4,"prompt_lookup_max":%d}'"""
SAMPLING = """vllm serve m --override-generation-config '{"temperature":%d}'"""


@pytest.mark.parametrize(
    ("command", "field"), [(LOOKUP, "speculative.options.prompt_lookup_max"), (SAMPLING, "unknown_flags")]
)
def test_configs_with_one_differing_key_differ(command: str, field: str) -> None:
    config, other_config, again = read(command % 2), read(command % 4), read(command % 2)
    assert config.fingerprint == again.fingerprint != other_config.fingerprint
    assert list(differing_fields([config.model_dump(mode="json"), other_config.model_dump(mode="json")])) == [field]


def test_separate_flag_sets_the_same_key() -> None:
    apart = "vllm serve m --speculative-config.method ngram --speculative-config.num_speculative_tokens 4"
    assert read(f"{apart} --speculative-config.prompt_lookup_max 2").fingerprint == read(LOOKUP % 2).fingerprint


def test_config_without_extra_keys_keeps_its_hash() -> None:
    stored = {"engine": "vllm", "speculative": {"method": "mtp", "num_tokens": 1}}
    assert Config.model_validate(stored).fingerprint == "252b1dce5a85"


def test_launcher_change_is_written_from_fields() -> None:
    words = command_of(read(DOCKER).model_copy(update={"launcher": "podman"}))
    assert words[:2] == ["podman", "run"] and "16G" in words
