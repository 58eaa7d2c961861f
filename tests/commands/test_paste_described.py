"""Commands that a program describes instead of a shell: JSON of containers and processes, lists in a log line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from commands.explain import explain
from tests.commands.test_paste import stated_fields

IMAGE = "vllm/vllm-openai:v0.11.0"
VLLM = {"engine": "vllm", "model": "o/m", "max_model_len": 8192}
WORDS = ["vllm", "serve", "o/m", "--max-model-len", "8192"]


@pytest.mark.parametrize("path", [["vllm"], ["tini", "--", "vllm"]])
def test_container_that_docker_inspect_shows(path: list[str]) -> None:
    container = {
        "Id": "a1", "Path": path[0], "Args": [*path[1:], *WORDS[1:]], "Image": "sha256:" + "a" * 64,
        "Config": {"Image": IMAGE, "Env": ["PATH=/bin"], "Cmd": WORDS[2:], "Entrypoint": WORDS[:2]},
        "HostConfig": {"Binds": ["/m:/m"], "PortBindings": {"8000/tcp": [{"HostIp": "", "HostPort": "8005"}]}},
    }  # fmt: skip
    assert stated_fields(json.dumps([container], indent=2)) == VLLM | {
        "launcher": "compose", "executable": "vllm", "image": IMAGE, "port": 8005, "volumes": ["/m:/m"],
    }  # fmt: skip


@pytest.mark.parametrize("text", ["[" * 900 + "]" * 900, '{"a":' * 600 + "1" + "}" * 600])
def test_deep_json_is_no_command(text: str) -> None:
    assert explain(text).config is None


def test_part_of_docker_inspect_without_the_name_of_its_image() -> None:
    part = {"Path": WORDS[0], "Args": WORDS[1:], "Image": "sha256:" + "a" * 64}
    assert stated_fields(json.dumps(part)) == VLLM | {"launcher": "compose", "executable": "vllm"}


def test_task_of_amazon_ecs() -> None:
    task = {
        "containerDefinitions": [
            {
                "name": "llm", "image": IMAGE, "command": ["--model", "o/m", "--max-model-len", "8192"],
                "environment": [{"name": "A", "value": "1"}],
                "portMappings": [{"containerPort": 8000, "hostPort": 8005}],
            }
        ]
    }  # fmt: skip
    assert stated_fields(json.dumps(task)) == VLLM | {
        "launcher": "compose", "image": IMAGE, "port": 8005, "env": {"A": "1"},
    }  # fmt: skip


def test_manifest_of_kubernetes_as_json() -> None:
    container = {"name": "llm", "image": IMAGE, "command": WORDS[:2], "args": WORDS[2:]}
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [container]}}
    assert stated_fields(json.dumps(pod)) == VLLM | {"launcher": "kubernetes", "executable": "vllm", "image": IMAGE}


@pytest.mark.parametrize("key", ["command", "program", "executable"])
def test_process_with_its_arguments(key: str) -> None:
    process: dict[str, Any] = {key: "llama-server", "args": ["-m", "/m/a.gguf", "-c", 8192], "env": {"A": 1}}
    assert stated_fields(json.dumps({"servers": {"llm": process}})) == {
        "engine": "llamacpp", "launcher": "process", "executable": "llama-server", "model": "/m/a.gguf",
        "max_model_len": 8192, "env": {"A": "1"},
    }  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "2026-01-01 10:00:00 - runner - INFO - Command: ['vllm', 'serve', 'o/m', '--max-model-len', '8192', "
        '\'--speculative-config\', \'{"method": "mtp", "num_speculative_tokens": 3}\']',
        "runner INFO With image: r.example/i:1, command: [vllm serve o/m --max-model-len=8192 --speculative-config "
        '{"method": "mtp", "num_speculative_tokens": 3}]',
        'level=info msg=start args=[vllm serve o/m --speculative-config {"method": "mtp", "num_speculative_tokens": 3} '
        "--max-model-len 8192]",
    ],
)
def test_command_that_a_log_line_shows_as_a_list(line: str) -> None:
    config = explain(f"runner INFO ready\n{line}\nrunner INFO done\n").config
    assert config and (config.engine, config.model, config.max_model_len) == ("vllm", "o/m", 8192)
    assert config.speculative and (config.speculative.method, config.speculative.num_tokens) == ("mtp", 3)


@pytest.mark.parametrize("text", ['{"a": [1, 2, {"b": "c"}]}', "[1, 2", '{"Path": "sh", "Args": ["-c", "true"]}'])
def test_other_json_has_no_command(text: str) -> None:
    assert explain(text).refused
