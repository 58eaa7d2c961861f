"""Provenance of a run: real files, the real package beside the interpreter, and GPUs that are a labelled recording."""

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
from launcher.checks.launch_request import LaunchRequest
from launcher.checks.provenance import UnreadGpus, freeze
from launcher.processes.process import ProcessSpec, write_spec
from launcher.runs.supervisor import Supervisor
from reports.arms.served_config import model_files
from tests.launcher.servers import DictStore, marked, request_for, wait_for, wait_for_state

RECORDED = UnreadGpus("580.65", "13.0", [{"name": "NVIDIA H200", "power_limit_w": 700.0}], {}, None)


def run_of(config: Config, directory: Path, **env: str) -> Run:
    write_spec(ProcessSpec(list(config.argv), str(directory), env), directory)
    return Run(id="r", name="r", color=0, config=config, machine_id="m", created_at=utc_now(), run_dir=str(directory))


def test_model_shape_is_kept_unless_broken(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    config = Config(engine="vllm", model="model", argv=("vllm",))
    (model / "config.json").write_text('{"num_hidden_layers": 2, "num_attention_heads": 4, "architectures": ["X"]}')
    frozen = freeze(run_of(config, tmp_path), UnreadGpus())
    assert frozen["model"]["shape"] == {"num_hidden_layers": 2, "num_attention_heads": 4}
    (model / "config.json").write_text("[")
    assert "shape" not in freeze(run_of(config, tmp_path), UnreadGpus())["model"]


def test_model_folder_known_by_config_and_index(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    files = {"config.json": b"{}", "model.safetensors.index.json": b'{"weight_map": {}}', "tokenizer.json": b"[]"}
    for name, content in files.items():
        (model / name).write_bytes(content)
    frozen = freeze(run_of(Config(engine="vllm", model="model", argv=("vllm",)), tmp_path), UnreadGpus())
    actual_files = frozen["model"]["files"]
    assert {name: value["sha256"] for name, value in actual_files.items()} == {
        name: hashlib.sha256(files[name]).hexdigest() for name in ("config.json", "model.safetensors.index.json")
    }
    assert frozen["model"]["path"] == str(model) and frozen["model_reason"] is None


def hub_cache(folder: Path, *commits: str) -> list[Path]:
    """Return the snapshot of each commit in a hub's cache; 'main' points to the first."""
    model = folder / "hub" / "models--org--name"
    snapshots = [model / "snapshots" / commit for commit in commits]
    for number, snapshot in enumerate(snapshots):
        write_model(snapshot, f"weights {number}")
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(commits[0])
    return snapshots


def write_model(folder: Path, tensors: str) -> Path:
    """Make a folder of one weight file with a header; config.json is the same in each."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"num_hidden_layers": 2}')
    header = json.dumps({tensors: {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}}).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"xy")
    return folder


def files_of(config: Config, folder: Path) -> str | None:
    return model_files(freeze(run_of(config, folder), UnreadGpus()))


def test_hub_name_is_known_by_its_snapshot(tmp_path: Path) -> None:
    (snapshot, older) = hub_cache(tmp_path, "c0ffee", "0ld")
    config = Config(engine="vllm", model="org/name", argv=("vllm",), env={"HF_HOME": str(tmp_path)})
    frozen = freeze(run_of(config, tmp_path), UnreadGpus())
    assert frozen["model"]["path"] == str(snapshot) and "config.json" in frozen["model"]["files"]
    assert frozen["model"]["revision"] == "c0ffee"
    named = config.model_copy(update={"unknown_flags": ["--revision 0ld"]})
    assert freeze(run_of(named, tmp_path), UnreadGpus())["model"]["path"] == str(older)
    assert files_of(named, tmp_path) != files_of(config, tmp_path)
    local = Config(engine="vllm", model=str(snapshot), argv=("vllm",))
    assert files_of(local, tmp_path) == files_of(config, tmp_path) is not None, "the same files by another name"


def test_equal_config_of_two_models_shows_nothing(tmp_path: Path) -> None:
    turbo, nvidia = (write_model(tmp_path / name, name) for name in ("turbo", "nvidia"))
    configs = [Config(engine="vllm", model=str(path), argv=("vllm",)) for path in (turbo, nvidia)]
    hashes = [files_of(config, tmp_path) for config in configs]
    assert None not in hashes and hashes[0] != hashes[1]
    (nvidia / "model.safetensors").unlink()
    assert files_of(configs[1], tmp_path) is None
    frozen = freeze(run_of(configs[1], tmp_path), UnreadGpus())
    assert frozen["model"]["weights_reason"] == "its folder has no weight files"


def test_a_mounted_model_is_known_in_a_container(tmp_path: Path) -> None:
    (snapshot,) = hub_cache(tmp_path / "cache", "c0ffee")
    write_model(tmp_path / "models/a", "a")
    container = Config(engine="vllm", image="vllm/vllm-openai", launcher="podman", argv=("podman",))
    volumes = [f"{tmp_path}/models:/m:ro", f"{tmp_path}/cache:/root/.cache/huggingface"]
    for model, path in (("/m/a", tmp_path / "models/a"), ("org/name", snapshot)):
        run = run_of(container.model_copy(update={"model": model, "volumes": volumes}), tmp_path)
        assert freeze(run, UnreadGpus())["model"]["path"] == str(path)
    unmounted = container.model_copy(update={"model": str(tmp_path / "models/a")})
    assert freeze(run_of(unmounted, tmp_path), UnreadGpus())["model_reason"] == "its path is inside the container"


def test_unknowns_have_reasons_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_abcdefghijklmnopqrstuvwxyz")
    monkeypatch.setenv("VLLM_ATTENTION_BACKEND", "FLASHINFER")
    config = Config(engine="vllm", model="/no/such", argv=("/no/vllm", "--api-key", "${PITWALL_SECRET_0}"))
    frozen = freeze(run_of(config, tmp_path, OMP_NUM_THREADS="1"), UnreadGpus())
    assert frozen["model_reason"] == "it was not on this machine at the start"
    assert frozen["package_reason"] == "no Python package of this engine beside the executable"
    assert frozen["gpus"] == [] and frozen["gpus_reason"] == "the GPUs were not read"
    environment = frozen["environment"]
    assert environment["VLLM_ATTENTION_BACKEND"] == "FLASHINFER" and environment["OMP_NUM_THREADS"] == "1"
    assert environment["HF_TOKEN"] == "<secret>" and "hf_abc" not in json.dumps(frozen)


@pytest.mark.parametrize("model", ["/locked/model.gguf", "org/name", "~nobody-of-this-name/model"])
def test_what_may_not_be_read_is_not_known(locked: Path, model: str) -> None:
    text = str(locked / "model.gguf") if model.startswith("/") else model
    config = Config(engine="vllm", model=text, argv=("vllm",), env={"HF_HOME": str(locked)})
    frozen = freeze(run_of(config, locked.parent), UnreadGpus())
    assert frozen["model"] == {"name": text} and frozen["model_reason"].startswith("it could not be read: ")


@pytest.mark.engine
def test_run_freezes_package_model_and_gpus(
    make_supervisor: Callable[..., Supervisor], store: DictStore, tmp_path: Path
) -> None:
    supervisor = make_supervisor(gpus=lambda: RECORDED)
    demo_config = demo_configs(tmp_path, shape=TINY)[0]
    run = supervisor.launch(LaunchRequest(demo_config.config, makes_model=True))
    frozen = wait_for(lambda: store.run(run.id).provenance)
    assert frozen["package"].startswith("xllamacpp ") and frozen["package_reason"] is None
    assert frozen["gpus"][0]["power_limit_w"] == 700.0 and frozen["driver_version"] == "580.65"
    assert frozen["words"][:4] == [sys.executable, "-m", "demo", "serve"] and frozen["host"]["cores"]


@pytest.mark.wide
def test_gpu_memory_that_stays_is_told(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    numbers: dict[int, int | None] = {}
    supervisor = make_supervisor(gpus=lambda: UnreadGpus(memory_by_pid=numbers))
    run = supervisor.launch(request_for())
    ready = wait_for_state(store, run.id, RunState.READY)
    numbers[ready.pid] = 3 * 2**30
    numbers[1] = 2**30  # somebody else's
    supervisor.stop(run.id)
    ended = wait_for_state(store, run.id, RunState.FAILED, RunState.FINISHED)
    assert ended.cause and ended.cause.endswith(f"GPU memory is still held for pid {ready.pid} (3.0 GiB).")
    assert marked(run.id) == []
