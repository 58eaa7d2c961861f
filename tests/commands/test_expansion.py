"""Words are filled in as a real bash fills them in."""

from __future__ import annotations

import subprocess

import pytest

from commands.expansion import EnvironmentExpansion, expand_config
from domain import Config

ENVIRON = {"HOME": "/home/driver", "X": "x", "EMPTY": "", "PATH": "/usr/bin:/bin"}
WORDS = [
    "~",
    "~/models",
    "~/.cache/huggingface:/root/.cache/huggingface",
    "~root/x",
    "~nobody-of-this-name/x",
    "a~/b",
    "--dir=~/x",
    "NAME=~/x:~/y",
    "NAME=$X",
    "/a:~/b",
    "$X/b",
    "${X}b",
    "$X$X",
    "${UNSET:-d}",
    "${UNSET-d}",
    "${EMPTY:-d}",
    "a${EMPTY-d}b",
    "${X:-d}",
    "${UNSET:=d}",
    "a${X:+set}",
    "a${UNSET:+set}",
    "${UNSET:-~/d}",
    "${UNSET:-$X/d}",
    "${UNSET:-${ALSO_UNSET:-e}}",
    "x$",
]


@pytest.mark.parametrize("word", WORDS)
def test_a_word_reads_as_in_bash(word: str) -> None:
    process = subprocess.run(
        ["bash", "-c", f'printf "%s" {word}'], env=ENVIRON, capture_output=True, text=True, check=True
    )
    fill = EnvironmentExpansion(ENVIRON)
    assert fill.word(word) == process.stdout and fill.missing == []


def test_unset_variable_named_once_secrets_stay() -> None:
    fill = EnvironmentExpansion({"HF_TOKEN": "sesame"})
    words = fill.words(["$A/${B}", "$A", "HF_TOKEN=$HF_TOKEN", "${C?say it}"])
    assert words == ["$A/${B}", "$A", "HF_TOKEN=$HF_TOKEN", "${C?say it}"] and fill.missing == ["A", "B", "C"]


@pytest.mark.parametrize("flags", [["-c"], ["-lc"], ["-e", "-c"]])
def test_shell_text_is_left_to_its_shell(flags: list[str]) -> None:
    words = ["docker", "run", "img", "bash", *flags, 'exec vllm serve "$MODEL"']
    assert EnvironmentExpansion({}).words(words) == words


def test_container_environment_is_not_the_words() -> None:
    argv = ("docker", "run", "-e", "HF_HOME=/in", "-e", "LEVEL", "-v", "$HF_HOME:/in", "img")
    config = Config(launcher="docker", argv=argv, env={"HF_HOME": "/in", "LEVEL": "$LEVEL"}, volumes=["$HF_HOME:/in"])
    run, missing, _ = expand_config(config, {"HF_HOME": "/out"})
    assert missing == [] and run.volumes == ["/out:/in"] and run.argv[-2] == "/out:/in"
    assert run.env == {"HF_HOME": "/in"}, "LEVEL is passed on, not set to its own name"
