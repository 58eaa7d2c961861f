"""A gotcha is offered where the same cause or flag appears, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.gotchas import cause_key, gotchas_of_command, gotchas_of_failure, has_flag, searchable_words
from domain import Config
from notes import Gotcha

CAUSE = "The KV cache has room for 4,000 tokens, fewer than --max-model-len 32768"
ALIKE = "The KV cache has room for 12,345 tokens, fewer than --max-model-len 131072"


def gotcha(**fields: Any) -> Gotcha:
    return Gotcha(id="g", engine="vllm", failure="f", workaround="w", **fields)


def config(*argv: str, **fields: Any) -> Config:
    return Config(engine="vllm", argv=("vllm", "serve", "m", *argv), **fields)


def test_numbers_and_paths_do_not_split_causes() -> None:
    assert cause_key(CAUSE) == cause_key(ALIKE)
    assert cause_key("no file /models/a.gguf at 0x7fab") == cause_key("No file /home/x/b-2.gguf at 0x11")
    assert cause_key("out of memory") != cause_key("port taken")


@pytest.mark.parametrize(
    ("words", "flag", "has"),
    [
        (["--enforce-eager"], "--enforce-eager", True),
        (["--enforce-eager-not"], "--enforce-eager", False),
        (["--quantization", "modelopt"], "--quantization modelopt", True),
        (["--quantization=modelopt"], "--quantization modelopt", True),
        (["--quantization=modelopt"], "--quantization", True),
        (["--quantization", "fp8"], "--quantization modelopt", False),
        (["--quantization"], "--quantization modelopt", False),
        (["modelopt", "--quantization", "fp8"], "--quantization modelopt", False),
        (["VLLM_USE_V1=0"], "VLLM_USE_V1=0", True),
        (["VLLM_USE_V1=1"], "VLLM_USE_V1=0", False),
        ([], "--x", False),
    ],
)
def test_flag_matches_with_its_stated_value(words: list[str], flag: str, has: bool) -> None:
    assert has_flag(words, flag) is has


def test_a_failure_of_the_same_cause_and_flag() -> None:
    gotchas = [gotcha(cause=CAUSE), gotcha(flag="--enforce-eager"), gotcha(cause=CAUSE, flag="--enforce-eager")]
    assert gotchas_of_failure(gotchas, config("--enforce-eager"), ALIKE) == gotchas
    assert gotchas_of_failure(gotchas, config(), ALIKE) == gotchas[:1]
    assert gotchas_of_failure(gotchas, config("--enforce-eager"), "another cause") == gotchas[1:2]
    assert gotchas_of_failure(gotchas, config("--enforce-eager").model_copy(update={"engine": "sglang"}), ALIKE) == []


def test_command_with_flag_regardless_of_cause() -> None:
    gotchas = [gotcha(cause=CAUSE), gotcha(cause=CAUSE, flag="--enforce-eager"), gotcha(flag="A=1")]
    assert gotchas_of_command(gotchas, config("--enforce-eager")) == gotchas[1:2]
    assert gotchas_of_command(gotchas, config(env={"A": "1"})) == gotchas[2:]
    assert searchable_words(config(env={"A": "1"}))[-1] == "A=1"
