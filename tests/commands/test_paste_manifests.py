"""Pasted manifests: a Compose service, a Kubernetes deployment, one in a heredoc."""

from __future__ import annotations

import pytest

from commands.explain import explain
from tests.commands.test_paste import stated_fields

COMPOSE = """
x-base: &base
  image: ${IMAGE:-vllm/vllm-openai:v0.11.0}
  environment: {HF_TOKEN: "${HF_TOKEN}", LEVEL: 1.10}
services:
  db: {image: "postgres:16"}
  llm:
    <<: *base
    ports: [{target: 8000, published: 8005}]
    volumes: [{type: bind, source: /a, target: /b, read_only: true}]
    command: >
      --model ${MODEL:-m}
      --max-model-len 32K --hf-overrides '{"a": "$$b"}'
    deploy: {resources: {reservations: {devices: [{device_ids: ['0', '3'], capabilities: [gpu]}]}}}
"""

KUBERNETES = """
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
      - name: v
        image: vllm/vllm-openai:latest
        command: ["/bin/sh", "-c"]
        args: ["vllm serve $(MODEL) --enable-chunked-prefill"]
        env:
        - {name: MODEL, value: m}
        - {name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hf, key: token}}}
        ports: [{containerPort: 8000}]
        resources: {limits: {nvidia.com/gpu: "2"}}
---
kind: Service
apiVersion: v1
spec: {ports: [{port: 80, targetPort: 8000, nodePort: 30080}]}
"""


def test_a_compose_service() -> None:
    assert stated_fields(COMPOSE) == {
        "engine": "vllm", "launcher": "compose", "image": "vllm/vllm-openai:v0.11.0", "model": "m", "port": 8005,
        "max_model_len": 32768, "gpus": "0,3", "env": {"HF_TOKEN": "${HF_TOKEN}", "LEVEL": "1.10"},
        "volumes": ["/a:/b:ro"], "unknown_flags": ['--hf-overrides {"a": "$b"}'],
    }  # fmt: skip


def test_a_kubernetes_deployment() -> None:
    assert stated_fields(KUBERNETES) == {
        "engine": "vllm", "launcher": "kubernetes", "image": "vllm/vllm-openai:latest", "executable": "vllm",
        "model": "m", "port": 30080, "chunked_prefill": True, "gpus": "2",
        "env": {"MODEL": "m", "HF_TOKEN": "<secret>"},
    }  # fmt: skip


def test_a_manifest_in_a_heredoc() -> None:
    assert stated_fields(f"cat <<'EOF' > compose.yml\n{COMPOSE}EOF\ndocker compose up -d") == stated_fields(COMPOSE)


DYNAMO = """
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: agg}
spec:
  services:
    Frontend:
      extraPodSpec:
        mainContainer: {image: "registry.example/ENGINE-runtime:1.0", command: [python3, -m, dynamo.frontend]}
    Worker:
      extraPodSpec:
        mainContainer:
          image: registry.example/ENGINE-runtime:1.0
          command: [python3, -m, dynamo.ENGINE]
          args: [FLAGS]
"""
WORKERS = {
    "vllm": "--model, o/m, --tensor-parallel-size, '2', --kv-cache-dtype, fp8, --max-num-seqs, '256'",
    "sglang": "--model-path, o/m, --tp, '2', --kv-cache-dtype, fp8, --max-running-requests, '256'",
    "trtllm": "--model-path, o/m, --tensor-parallel-size, '2', --kv-cache-dtype, fp8, --max-batch-size=256",
}


@pytest.mark.parametrize("engine", WORKERS)
def test_a_worker_of_dynamo(engine: str) -> None:
    explanation = explain(DYNAMO.replace("ENGINE", engine).replace("FLAGS", WORKERS[engine]))
    assert explanation.config and explanation.refused is None
    config = explanation.config
    assert (config.engine, config.image) == (engine, f"registry.example/{engine}-runtime:1.0")
    assert (config.model, config.tensor_parallel, config.kv_cache_dtype, config.max_num_seqs) == ("o/m", 2, "fp8", 256)
    assert any(f"dynamo.{engine} is a worker of Dynamo" in text for text in explanation.warnings)


def test_a_quadlet() -> None:
    assert stated_fields(
        "[Unit]\nDescription=llm\n\n[Container]\nImage=docker.io/vllm/vllm-openai:v0.11.0\nPublishPort=8005:8000\n"
        "Volume=/m:/m:ro\nAddDevice=nvidia.com/gpu=all\nEnvironment=A=1 B=2\nEnvironment=\"C=x y\"\n"
        "Exec=--model /m/a \\\n  --max-model-len 4096\n\n[Service]\nRestart=always\n"
    ) == {
        "engine": "vllm", "launcher": "podman", "image": "docker.io/vllm/vllm-openai:v0.11.0", "model": "/m/a",
        "port": 8005, "max_model_len": 4096, "gpus": "nvidia.com/gpu=all", "volumes": ["/m:/m:ro"],
        "env": {"A": "1", "B": "2", "C": "x y"},
    }  # fmt: skip


def test_the_values_of_a_chart() -> None:
    assert stated_fields(
        "image:\n  repository: vllm/vllm-openai\n  tag: v0.11.0\nenv:\n  - {name: A, value: '1'}\n"
        "resources: {limits: {nvidia.com/gpu: '2'}}\nextraArgs: [--model, o/m, --max-model-len, '4096']\n"
    ) == {
        "engine": "vllm", "launcher": "kubernetes", "image": "vllm/vllm-openai:v0.11.0", "model": "o/m",
        "max_model_len": 4096, "gpus": "2", "env": {"A": "1"},
    }  # fmt: skip


def test_a_helm_release_has_its_chart_values_inline() -> None:
    assert stated_fields(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nspec:\n  values:\n    controllers:\n      app:\n"
        "        containers:\n          app:\n            image: {repository: registry.example/x-vllm, tag: latest}\n"
        "            args: [o/m, --port, '8000', --max-num-seqs, '32']\n            env: {A: '1'}\n"
        "    service: {app: {ports: {http: {port: 80}}}}\n"
    ) == {
        "engine": "vllm", "launcher": "kubernetes", "image": "registry.example/x-vllm:latest", "model": "o/m",
        "port": 8000, "max_num_seqs": 32, "env": {"A": "1"},
    }  # fmt: skip


SECTION = """servingEngineSpec:
  modelSpec:
  - name: m
    repository: vllm/vllm-openai
    tag: v0.20.0
    modelURL: o/m
    requestGPU: 2
    vllmConfig:
      maxModelLen: 16384
      tensorParallelSize: 2
      enablePrefixCaching: true
      enableChunkedPrefill: false
      extraArgs: [--kv-cache-dtype, fp8]
"""
READING = {
    "engine": "vllm", "launcher": "kubernetes", "image": "vllm/vllm-openai:v0.20.0", "executable": "vllm",
    "max_model_len": 16384, "tensor_parallel": 2, "prefix_caching": True,
    "kv_cache_dtype": "fp8",
}  # fmt: skip


def test_settings_of_a_chart_in_camel_case() -> None:
    config = explain(SECTION).config
    assert config and config.chunked_prefill is False
    assert stated_fields(SECTION) == READING | {"model": "o/m", "gpus": "2"}


def test_a_custom_resource_with_such_settings() -> None:
    text = SECTION.replace("servingEngineSpec:\n", "apiVersion: x/v1\nkind: InferenceService\nspec:\n")
    text = text.replace(
        "    repository: vllm/vllm-openai\n    tag: v0.20.0\n    modelURL: o/m\n    requestGPU: 2\n", ""
    )
    text = text.replace("extraArgs: [--kv-cache-dtype, fp8]", "kvCacheDtype: fp8").replace(
        "  modelSpec:\n  - name: m\n", ""
    )
    assert stated_fields(
        f"{text}    image: vllm/vllm-openai:v0.20.0\n    env: [{{name: A, value: '1'}}]\n"
    ) == READING | {"env": {"A": "1"}}


def test_a_task_of_ansible_is_a_container() -> None:
    assert stated_fields(
        "- hosts: gpu\n  tasks:\n    - community.docker.docker_container:\n        name: v\n"
        "        image: vllm/vllm-openai:v0.20.0\n        command: --model o/m\n"
        "        published_ports: ['8001:8000']\n"
        "        env: {A: '1'}\n"
    ) == {
        "engine": "vllm", "launcher": "compose", "image": "vllm/vllm-openai:v0.20.0", "model": "o/m", "port": 8001,
        "env": {"A": "1"},
    }  # fmt: skip
