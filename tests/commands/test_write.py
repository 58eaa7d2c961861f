"""A Config written as a command and read again is the same Config; what is copied is what is run."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands.explain import explain, read_argv
from commands.write import CommandError, command_of, shell_text
from domain import Config, Speculation

SHARED = os.environ.get("PITWALL_COMMANDS")
PODMAN = """podman run --rm --name test --device nvidia.com/gpu=0 --ipc=host -p 8000:8000 -v /mnt/models:/hf/hub:ro \\
-e HF_HUB_OFFLINE=1 registry.example/vllm/vllm-openai:v0.21.0 /hf/hub/m --host 0.0.0.0 --port 8000 \\
--kv-cache-dtype fp8 --trust-remote-code --speculative-config '{"model":"/hf/d","num_speculative_tokens":4}' \\
--override-generation-config '{"temperature":0.9,"top_k":64}'"""
PASTES = [
    PODMAN,
    "docker run -d --restart unless-stopped --shm-size 16G --gpus '\"device=0,1\"' -v /models -p 8001:8000 "
    "-e NVIDIA_VISIBLE_DEVICES=0 vllm/vllm-openai:gemma4 --model /models/m --host 0.0.0.0 --port 8000",
    "vllm serve o/m -q modelopt --max-model-len 16K --enable-prefix-caching --no-enable-chunked-prefill -O3",
    "HF_HOME=/m ./run-recipe.sh gemma --setup -n a,b --tp 2",
    "~/x/launch-cluster.sh -t tf5 --solo -d exec vllm serve o/m --port 8000 --load-format instanttensor",
    "python3 -m sglang.launch_server --model m --tp 4 --speculative-algo EAGLE --speculative-draft d",
    "python3 -m sglang.launch_server --model-path m --disable-cuda-graph --context-length 32k",
    "CUDA_VISIBLE_DEVICES=1 llama-server -m /m.gguf -c 8192 -np 2 -ctk q8_0 -ctv q8_0 -fa on --spec-draft-n-max 4",
    "llama-server -m /m.gguf --spec-type mtp:n_max=16,n_min=0,p_min=0.75 -md /d.gguf",
    "mpirun -n 8 trtllm-serve m --tp_size 8 --max_batch_size 4 --backend pytorch",
]


def bare(config: Config | None) -> Config:
    assert config
    return config.model_copy(update={"argv": (), "engine_version": None})


@pytest.mark.parametrize("paste", PASTES)
def test_the_words_to_run_read_as_the_same_config(paste: str) -> None:
    config = explain(paste).config
    assert config
    assert command_of(config) == list(config.argv)
    assert bare(explain(shell_text(command_of(config), process_env(config))).config) == bare(config)


@pytest.mark.parametrize("paste", PASTES)
def test_written_command_reads_as_same_config(paste: str) -> None:
    config = bare(explain(paste).config)
    if config.executable == "./run-recipe.sh":
        pytest.skip("a recipe's settings stand in the recipe, not in fields")
    written_config = explain(shell_text(command_of(config), process_env(config))).config
    assert bare(written_config).model_copy(update={"executable": config.executable}) == config


def process_env(config: Config) -> dict[str, str]:
    return {} if config.image else config.env


def test_edited_field_keeps_the_rest_of_command() -> None:
    config = explain(PODMAN).config
    assert config
    words = command_of(config.model_copy(update={"max_num_seqs": 8, "kv_cache_dtype": None}))
    assert words[:3] == ["podman", "run", "--rm"] and "--ipc=host" in words
    assert words[words.index("--max-num-seqs") + 1] == "8" and "--kv-cache-dtype" not in words
    assert read_argv(words, {}) == config.model_copy(
        update={"max_num_seqs": 8, "kv_cache_dtype": None, "argv": tuple(words)}
    )


@pytest.mark.parametrize("launcher", ["compose", "kubernetes"])
def test_a_manifest_becomes_a_run_command(launcher: str) -> None:
    config = Config(engine="llamacpp", launcher=launcher, image="llama.cpp:1", model="/m.gguf", port=9000, gpus="0,1")
    runtime = ["docker", "run", "--gpus", '"device=0,1"', "-p", "9000:9000"]
    assert command_of(config) == [*runtime, "llama.cpp:1", "--model", "/m.gguf", "--port", "9000"]


def test_an_engine_without_commands_has_none() -> None:
    with pytest.raises(CommandError, match="no command"):
        command_of(Config(engine="other"))
    assert command_of(Config(engine="other", argv=("tgi", "--x"))) == ["tgi", "--x"]


def test_secrets_are_copied_as_references() -> None:
    config = explain("docker run -e HF_TOKEN=abcdef vllm/vllm-openai --model m --api-key ghijkl").config
    assert config
    text = shell_text(command_of(config))
    assert '"HF_TOKEN=$HF_TOKEN"' in text and '"$API_KEY"' in text
    assert "abcdef" not in text and "ghijkl" not in text and "<secret>" not in text


def test_word_ending_in_line_break_is_quoted() -> None:
    assert shell_text(["vllm", "serve", "o/m\n"]) == "vllm serve 'o/m\n'"


NAMES = st.from_regex(r"[A-Za-z][\w.-]{0,12}(/[A-Za-z][\w.-]{0,12})?", fullmatch=True)
COUNTS = st.none() | st.integers(1, 10**6)
CONFIGS = st.builds(
    Config,
    engine=st.sampled_from(["vllm", "sglang", "llamacpp", "trtllm"]),
    model=NAMES,
    served_model_name=st.none() | NAMES,
    port=st.none() | st.integers(1, 65535),
    max_model_len=COUNTS,
    max_num_seqs=COUNTS,
    speculative=st.none() | st.builds(Speculation, num_tokens=st.integers(1, 64), method=st.just("ngram"), model=NAMES),
    unknown_flags=st.lists(st.builds("--{} {}".format, st.sampled_from(["seed", "log-level"]), NAMES), max_size=2),
)


@given(CONFIGS)
@settings(max_examples=60)
def test_any_config_survives_the_way_through_text(config: Config) -> None:
    if config.engine == "trtllm":
        config = config.model_copy(update={"speculative": None})  # stands in its YAML file
    if config.engine == "vllm" and config.speculative:
        options = {"prompt_lookup_max": 3, "draft": {"tensor_parallel": 1}, "names": ["a b", "c"], "on": True}
        config = config.model_copy(update={"speculative": config.speculative.model_copy(update={"options": options})})
    read = explain(shell_text(command_of(config))).config
    assert bare(read).model_copy(update={"executable": None}) == config


@pytest.mark.skipif(not SHARED, reason="PITWALL_COMMANDS is not set: the real commands are not at hand")
def test_every_runnable_command_round_trips() -> None:
    folder = Path(SHARED or "")
    pastes = [json.loads(path.read_text())["command"] for path in sorted(folder.glob("*.json"))]
    for path in sorted((folder.parent / "reference" / "facts").glob("seed_00?.json")):
        pastes += [entry["text"] for entry in json.loads(path.read_text())["commands"]]
    configs = [config for paste in pastes if (config := explain(paste).config)]
    assert len(configs) > 28
    for config in configs:
        again = explain(shell_text(command_of(config), process_env(config))).config
        if config.launcher not in ("compose", "kubernetes"):
            assert without_references(again) == without_references(config)


def without_references(config: Config | None) -> str:
    """The config as text in which a masked secret counts as a reference."""
    return re.sub(r'"(?:<secret>|\$\{?\w+[^"]*)"', '"$"', bare(config).model_dump_json())
