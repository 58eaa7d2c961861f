"""An edited Config keeps its own words: only what changed is said anew, and it reads as the edited Config."""

from __future__ import annotations

from typing import Any

import pytest

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
    ("paste", "update", "gone", "new"),
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
def test_only_what_changed_is_said_anew(paste: str, update: dict[str, Any], gone: list[str], new: list[str]) -> None:
    config = read(paste)
    edited = config.model_copy(update=update)
    words = command_of(edited)
    kept = list(config.argv)
    for word in gone:
        kept.remove(word)
    left = list(words)
    for word in new:
        left.remove(word)
    assert sorted(left) == sorted(kept)
    again = read_argv(words, edited.env)
    assert again and again.model_copy(update={"argv": (), "engine_version": None}) == edited.model_copy(
        update={"argv": (), "engine_version": None}
    )


def test_keys_of_a_speculative_config_that_no_field_holds_are_kept() -> None:
    config = read(NGRAM)
    words = command_of(config.model_copy(update={"speculative": Speculation(method="ngram", num_tokens=2)}))
    assert words[-1] == '{"method":"ngram","prompt_lookup_max":4,"num_speculative_tokens":2}'
    assert "--speculative-config" not in command_of(config.model_copy(update={"speculative": None}))


def test_a_change_of_launcher_is_written_from_the_fields() -> None:
    words = command_of(read(DOCKER).model_copy(update={"launcher": "podman"}))
    assert words[:2] == ["podman", "run"] and "16G" in words
