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
    explanation = explain(text)
    config = explanation.config
    assert config and explanation.refused is None
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


MACRO = 'macros:\n  "run": >\n    /opt/llama-server --port ${PORT}\n    -t 10\nmodels:\n  big:\n    cmd: |\n'
MACRO += "      ${run}\n      # the model\n      --model /m/big.gguf\n      -c 4096\n"


def test_a_macro_of_several_lines_is_part_of_the_command() -> None:
    explanation = explain(MACRO)
    config = explanation.config
    assert config and (config.model, config.max_model_len, config.port) == ("/m/big.gguf", 4096, None)
    assert config.unknown_flags == ["-t 10"]
    assert (explanation.repaired, explanation.left_out, explanation.unresolved) == ([], [], ["${PORT}"])


def test_a_server_of_windows_stands_behind_backslashes() -> None:
    text = MACRO.replace("/opt/llama-server", r"D:\apps\b9\llama-server.exe").replace("/m/big.gguf", r"D:\m\big.gguf")
    explanation = explain(text + "  small:\n    cmd: |\n      ${run}\n      -m D:/m/small.gguf\n")
    config = explanation.config
    assert config and (config.executable, config.model) == (r"D:\apps\b9\llama-server.exe", r"D:\m\big.gguf")
    assert (config.max_model_len, explanation.repaired, explanation.left_out) == (4096, [], [])
    assert explanation.warnings[0] == "2 servers are in this paste; the first one is used"


SWAP_FILE = "models:\n  small:\n    cmd: >\n      /app/llama-server -m /m/a.gguf\n      -c 8192 --port 9001\n"
WITHIN = {
    "compose": "configs:\n  swap:\n    content: |\n      FILE\nservices:\n  swap:\n    image: registry.example/swap:1\n"
    "    ports: ['9292:8080']\n    volumes: ['./m:/m']\n    configs: [{source: swap, target: /app/config.yaml}]\n",
    "kubernetes": "apiVersion: v1\nkind: ConfigMap\ndata:\n  config.yaml: |\n    FILE\n---\napiVersion: v1\nkind: Pod\n"
    "spec:\n  containers:\n  - image: registry.example/swap:1\n    ports: [{containerPort: 8080}]\n",
}


@pytest.mark.parametrize("launcher", WITHIN)
def test_a_configuration_file_in_a_manifest_is_searched(launcher: str) -> None:
    text = WITHIN[launcher]
    indent = next(line for line in text.split("\n") if "FILE" in line).partition("FILE")[0]
    explanation = explain(text.replace("FILE", SWAP_FILE.replace("\n", f"\n{indent}")))
    config = explanation.config
    assert config and (config.engine, config.launcher, config.image) == (
        "llamacpp",
        launcher,
        "registry.example/swap:1",
    )
    assert (config.model, config.max_model_len, config.port) == ("/m/a.gguf", 8192, 9001)
    assert config.volumes == (["./m:/m"] if launcher == "compose" else [])
    assert (explanation.repaired, explanation.left_out) == ([], [])
    assert explanation.warnings == [
        "the program of the container registry.example/swap:1 starts the server, not Pitwall"
    ]


def test_a_container_beside_another_is_not_taken_for_that_of_the_server() -> None:
    text = WITHIN["compose"].replace("FILE", SWAP_FILE.replace("\n", "\n      "))
    config = explain(f"{text}  ui:\n    image: registry.example/ui:1\n").config
    assert config and (config.model, config.image) == ("/m/a.gguf", None)
