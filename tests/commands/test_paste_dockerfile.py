"""Dockerfiles that start a server: both forms of ENTRYPOINT and CMD, variables, stages."""

from __future__ import annotations

from time import process_time

import pytest

from commands.explain import explain

ENGINE_IMAGE = "vllm/vllm-openai:v0.9.1"
STARTS = {
    "shell form": "ENTRYPOINT vllm serve \\\n    $MODEL \\\n    # the window\n    --max-model-len 4096\n",
    "list form": 'ENTRYPOINT ["vllm", "serve", "o/m", "--max-model-len", "4096"]\n',
    "both": 'ENTRYPOINT ["vllm", "serve"]\nCMD ["o/m", \\\n  "--max-model-len", "4096"]\n',
    "a module": "CMD python3 -m vllm.entrypoints.openai.api_server --model o/m --max-model-len 4096\n",
}
HEAD = "ARG LEVEL=2\nFROM IMAGE\nRUN apt-get update \\\n && echo it's done\nENV MODEL=o/m A=1\nENV B two words\n"


@pytest.mark.parametrize("image", [ENGINE_IMAGE, "nvidia/cuda:13.0.0-base"])
@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_a_dockerfile_starts_the_server_of_its_last_lines(start: str, image: str) -> None:
    explanation = explain(HEAD.replace("IMAGE", image) + start)
    config = explanation.config
    assert config and explanation.refused is None
    assert (config.engine, config.model, config.max_model_len) == ("vllm", "o/m", 4096)
    assert (config.env, explanation.unresolved) == ({"MODEL": "o/m", "A": "1", "B": "two words"}, [])
    assert (config.image, config.launcher) == ((image, "docker") if image == ENGINE_IMAGE else (None, "process"))
    assert explanation.left_out == ["RUN apt-get update && echo it's done"]
    assert explanation.warnings == [
        f"the Dockerfile builds an image on {image}: the command is that of the built image"
    ]


def test_flags_alone_are_those_of_the_base_images_server() -> None:
    config = explain(f'FROM {ENGINE_IMAGE} AS base\nFROM base\nCMD ["--model", "o/m", "--port", "8001"]\n').config
    assert config and (config.engine, config.image, config.model, config.port) == ("vllm", ENGINE_IMAGE, "o/m", 8001)


def test_what_a_variable_decides_is_told() -> None:
    explanation = explain(
        f"FROM {ENGINE_IMAGE}\nENTRYPOINT vllm serve ${{NAME:-o/m}} ${{REVISION:+--revision $REVISION}}\n"
    )
    assert explanation.config and explanation.config.model == "o/m"
    assert explanation.unresolved == ["${NAME:-o/m}", "${REVISION:+--revision $REVISION}"]


def test_a_script_is_named_and_another_text_stays() -> None:
    refused = explain(f'FROM {ENGINE_IMAGE}\nENTRYPOINT ["/bin/bash", "start.sh"]\nCMD [""]\n').refused or ""
    assert refused.startswith(f"The container {ENGINE_IMAGE} runs /bin/bash start.sh")
    config = explain("SELECT x\nFROM y\nvllm serve o/m\n").config
    assert config and config.model == "o/m"


def test_a_command_behind_the_file_is_told() -> None:
    explanation = explain(
        f'FROM {ENGINE_IMAGE}\nCMD ["--model", "o/m"]\n\ndocker run -p 8001:8000 mine vllm serve o/n\n'
    )
    assert explanation.config and explanation.config.model == "o/m"
    assert "this paste has two server commands; the first one is used" in explanation.warnings


def test_a_long_dockerfile_is_read_soon() -> None:
    start = process_time()
    for text in ("A=" * 40_000, 'A="' + "\\" * 80_000, "[" * 90_000, "A=b " * 5_000, "\nARG x" * 8_000):
        explain(f"FROM x\nENV {text}\nCMD {text}\n")
        explain(f"{text}\nCMD x\n")
    assert process_time() - start < 10
