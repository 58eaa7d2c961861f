"""Modules of NixOS: a service's command and a container."""

from __future__ import annotations

import pytest

from tests.commands.test_paste import stated

COMMANDS = {
    "a string": '"${pkgs.llama-cpp}/bin/llama-server -m /m/a.gguf -c 8192 --port 8081"',
    "lines": "''\n      ${lib.getExe' pkgs.llama-cpp \"llama-server\"} \\\n"
    "        -m /m/a.gguf -c 8192 --port 8081\n    ''",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_service(command: str) -> None:
    module = (
        '{ pkgs, lib, ... }: {\n  systemd.services.llama = {\n    environment = { CUDA_VISIBLE_DEVICES = "1"; };\n'
        f"    serviceConfig.ExecStart = {command};\n  }};\n}}\n"
    )
    assert stated(module) == {
        "engine": "llamacpp", "launcher": "process", "executable": "llama-server", "model": "/m/a.gguf",
        "max_model_len": 8192, "port": 8081, "gpus": "1", "env": {"CUDA_VISIBLE_DEVICES": "1"},
    }  # fmt: skip


def test_a_container() -> None:
    assert stated(
        'virtualisation.oci-containers.containers.llm = {\n  image = "vllm/vllm-openai:v0.11.0";\n'
        '  ports = [ "8005:8000" ];\n  volumes = [ "/m:/m" ];\n  environment = { A = "1"; };\n'
        '  cmd = [ "--model" "/m/a"\n    "--max-model-len" "4096" ];\n'
        '  extraOptions = [ "--device=nvidia.com/gpu=all" ];\n};\n'
    ) == {
        "engine": "vllm", "launcher": "podman", "image": "vllm/vllm-openai:v0.11.0", "model": "/m/a", "port": 8005,
        "max_model_len": 4096, "gpus": "nvidia.com/gpu=all", "volumes": ["/m:/m"], "env": {"A": "1"},
    }  # fmt: skip
