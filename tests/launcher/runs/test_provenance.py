"""What a run ran on: real files, the real package beside the interpreter, and GPUs that are a labelled recording."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from demo.model import TINY
from demo.presets import demo_configs
from domain import Config, Run, RunState, utc_now
from launcher.checks.preflight import LaunchRequest
from launcher.processes.process import ProcessSpec, write_spec
from launcher.runs.provenance import NotAsked, freeze
from launcher.runs.supervisor import Supervisor
from tests.launcher.servers import DictStore, marked, request_for, wait_for, wait_for_state

RECORDED = NotAsked("580.65", "13.0", [{"name": "NVIDIA H200", "power_limit_w": 700.0}], {}, None)


def run_of(config: Config, directory: Path, **env: str) -> Run:
    write_spec(ProcessSpec(list(config.argv), str(directory), env), directory)
    return Run(id="r", name="r", color=0, config=config, machine_id="m", created_at=utc_now(), run_dir=str(directory))


def test_the_shape_of_a_model_is_kept_and_a_broken_one_is_not(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    config = Config(engine="vllm", model="model", argv=("vllm",))
    (model / "config.json").write_text('{"num_hidden_layers": 2, "num_attention_heads": 4, "architectures": ["X"]}')
    frozen = freeze(run_of(config, tmp_path), NotAsked())
    assert frozen["model"]["shape"] == {"num_hidden_layers": 2, "num_attention_heads": 4}
    (model / "config.json").write_text("[")
    assert "shape" not in freeze(run_of(config, tmp_path), NotAsked())["model"]


def test_a_model_folder_is_told_by_its_configuration_and_its_weight_index(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    files = {"config.json": b"{}", "model.safetensors.index.json": b'{"weight_map": {}}', "tokenizer.json": b"[]"}
    for name, content in files.items():
        (model / name).write_bytes(content)
    frozen = freeze(run_of(Config(engine="vllm", model="model", argv=("vllm",)), tmp_path), NotAsked())
    told = frozen["model"]["files"]
    assert {name: one["sha256"] for name, one in told.items()} == {
        name: hashlib.sha256(files[name]).hexdigest() for name in ("config.json", "model.safetensors.index.json")
    }
    assert frozen["model"]["path"] == str(model) and frozen["model_reason"] is None


def test_a_name_of_the_hub_is_told_by_its_snapshot(tmp_path: Path) -> None:
    folder = tmp_path / "hub" / "models--org--name"
    snapshot = folder / "snapshots" / "c0ffee"
    snapshot.mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("c0ffee")
    (snapshot / "config.json").write_text("{}")
    config = Config(engine="vllm", model="org/name", argv=("vllm",), env={"HF_HOME": str(tmp_path)})
    frozen = freeze(run_of(config, tmp_path), NotAsked())
    assert frozen["model"]["path"] == str(snapshot) and "config.json" in frozen["model"]["files"]


def test_what_is_not_known_has_its_reason_and_no_secret_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_abcdefghijklmnopqrstuvwxyz")
    monkeypatch.setenv("VLLM_ATTENTION_BACKEND", "FLASHINFER")
    config = Config(engine="vllm", model="/no/such", argv=("/no/vllm", "--api-key", "${PITWALL_SECRET_0}"))
    frozen = freeze(run_of(config, tmp_path, OMP_NUM_THREADS="1"), NotAsked())
    assert frozen["model_reason"] == "it is not on this machine at the start"
    assert frozen["package_reason"] == "no Python package of this engine beside the executable"
    assert frozen["gpus"] == [] and frozen["gpus_reason"] == "the GPUs were not asked for"
    environment = frozen["environment"]
    assert environment["VLLM_ATTENTION_BACKEND"] == "FLASHINFER" and environment["OMP_NUM_THREADS"] == "1"
    assert environment["HF_TOKEN"] == "<secret>" and "hf_abc" not in json.dumps(frozen)


@pytest.mark.parametrize("model", ["/locked/model.gguf", "org/name", "~nobody-of-this-name/model"])
def test_what_may_not_be_read_is_not_known(locked: Path, model: str) -> None:
    named = str(locked / "model.gguf") if model.startswith("/") else model
    config = Config(engine="vllm", model=named, argv=("vllm",), env={"HF_HOME": str(locked)})
    frozen = freeze(run_of(config, locked.parent), NotAsked())
    assert frozen["model"] == {"name": named} and frozen["model_reason"].startswith("it may not be read: ")


@pytest.mark.engine
def test_a_run_is_frozen_with_its_package_its_model_file_and_its_gpus(
    make_supervisor: Callable[..., Supervisor], store: DictStore, tmp_path: Path
) -> None:
    supervisor = make_supervisor(gpus=lambda: RECORDED)
    one = demo_configs(tmp_path, shape=TINY)[0]
    run = supervisor.launch(LaunchRequest(one.config, makes_model=True))
    frozen = wait_for(lambda: store.run(run.id).provenance)
    assert frozen["package"].startswith("xllamacpp ") and frozen["package_reason"] is None
    assert frozen["gpus"][0]["power_limit_w"] == 700.0 and frozen["driver_version"] == "580.65"
    assert frozen["words"][:4] == [sys.executable, "-m", "demo", "serve"] and frozen["host"]["cores"]


def test_gpu_memory_that_stays_is_told(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    held: dict[int, int | None] = {}
    supervisor = make_supervisor(gpus=lambda: NotAsked(memory_by_pid=held))
    run = supervisor.launch(request_for())
    ready = wait_for_state(store, run.id, RunState.READY)
    held[ready.pid] = 3 * 2**30
    held[1] = 2**30  # somebody else's
    supervisor.stop(run.id)
    ended = wait_for_state(store, run.id, RunState.FAILED, RunState.FINISHED)
    assert ended.cause and ended.cause.endswith(f"GPU memory is still held for pid {ready.pid} (3.0 GiB).")
    assert marked(run.id) == []
