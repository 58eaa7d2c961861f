"""Commands in the texts of YAML files of any kind: llama-swap, SkyPilot, a folded block wherever it stands."""

from __future__ import annotations

import pytest

from commands.explain import explain

BODY = """docker run --rm --gpus all
      -p ${PORT}:8080 -v /models:/models
      registry.example/llama-cpp:latest
      -m /models/a.gguf -c 65536 --parallel 4 -ngl 99
      --host 0.0.0.0 --port 8080
"""
SWAP = "models:\n  small:\n    cmd: STYLE\n      " + BODY
FOLDED = {
    "folded": SWAP.replace("STYLE", ">"),
    "folded, stripped": SWAP.replace("STYLE", ">-"),
    "within prose": "I use this:\n" + SWAP.replace("STYLE", ">").replace("models:\n", "{{ x }}\nmodels:\n"),
    "a template": SWAP.replace("STYLE", ">").replace("small:", "{{ .Values.name }}:"),
    "with backslashes": SWAP.replace("STYLE", "|").replace("all\n", "all \\\n").replace("models\n", "models \\\n")
    .replace("latest\n", "latest \\\n").replace("99\n", "99 \\\n"),
    "macros": "macros:\n  run: docker run --rm --gpus all\nmodels:\n  small:\n    cmd: >\n      ${run} "
    + BODY.removeprefix("docker run --rm --gpus all\n").lstrip(),
}  # fmt: skip


@pytest.mark.parametrize("text", FOLDED.values(), ids=FOLDED)
def test_a_block_is_joined_as_yaml_joins_it(text: str) -> None:
    told = explain(text)
    config = told.config
    assert config and told.refused is None
    assert (config.engine, config.launcher, config.image) == ("llamacpp", "docker", "registry.example/llama-cpp:latest")
    assert (config.model, config.max_model_len, config.gpus, config.port) == ("/models/a.gguf", 65536, "all", None)
    assert config.max_num_seqs == 4 or "--parallel 4" in config.unknown_flags
    assert "-ngl 99" in config.unknown_flags and config.env == {}


def test_a_sky_task_is_read_with_its_variables() -> None:
    config = explain(
        "resources:\n  accelerators: H100:2\nenvs:\n  MODEL: o/m\n  HF_TOKEN:\nsetup: |\n  pip install vllm\nrun: |\n"
        "  echo start\n  vllm serve $MODEL \\\n    --tensor-parallel-size 2 \\\n    --port 8081\n"
    ).config
    assert config and (config.model, config.tensor_parallel, config.port) == ("o/m", 2, 8081)
    assert config.env == {"MODEL": "o/m"}


def test_a_list_of_words_is_a_command() -> None:
    config = explain("jobs:\n  serve:\n    cmd: [vllm, serve, o/m, --port, '8081']\n").config
    assert config and (config.model, config.port) == ("o/m", 8081)


def test_merge_keys_give_the_command_what_they_hold() -> None:
    config = explain(
        "base: &base\n  env: {A: '1'}\njobs:\n  serve:\n    <<: *base\n    run: vllm serve o/m --port 8081\n"
    ).config
    assert config and (config.model, config.env) == ("o/m", {"A": "1"})
