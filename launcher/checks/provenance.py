"""Provenance of a run, recorded once at its start so that it can be reproduced: command, package, model, GPUs, host."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Protocol

import psutil

from analysis.physics.attention import shape_of
from commands.secrets import mask_env
from domain import JsonValue, Run
from engines import ENGINES
from errors import PitwallError
from launcher.checks.model_folder import find_model
from launcher.processes.process import read_spec
from machine.json_object import read_object
from machine.regular_file import NotRegularError, open_regular, pin_path
from machine.weight_files import WeightsUnreadError, identify_weights
from redaction import mask_text

PACKAGES = {engine.name: engine.packages for engine in ENGINES}
# Inherited variables that change how an engine runs.
RECORDED_PREFIXES = (
    *("CUDA_", "NVIDIA_", "NCCL_", "OMP_", "TORCH", "PYTORCH_", "TRITON_", "FLASHINFER_", "HF_"),
    *("VLLM_", "SGLANG_", "SGL_", "LLAMA_", "GGML_", "TRTLLM_", "TLLM_"),
)
CONFIG = "config.json"
LARGEST_CONFIG_BYTES = 4 << 20
HASHED_FILES = (CONFIG, "generation_config.json", "quantize_config.json", "hf_quant_config.json")
INDEX_PATTERN = "*.index.json"
MOST_INDEXES = 16
LARGEST_BYTES = 64 << 20  # of a hashed file: the weight index of a trillion-parameter model has some 20 MB
SNAPSHOTS = "snapshots"  # folder of the hub's cache; the folders in it are named by their commits


class GpuSnapshot(Protocol):
    """The machine's GPUs as their driver reports them now."""

    @property
    def driver_version(self) -> str | None: ...
    @property
    def cuda_version(self) -> str | None: ...
    @property
    def gpus(self) -> list[Mapping[str, JsonValue]]:
        """Identity, limits and clocks, one mapping per GPU; empty if none is known."""
        ...

    @property
    def memory_by_pid(self) -> Mapping[int, int | None]:
        """Bytes of GPU memory by pid; None if the driver does not report the process's size."""
        ...

    @property
    def reason(self) -> str | None:
        """Why the GPUs are unknown; None if the driver has answered."""
        ...


@dataclass(frozen=True, slots=True)
class UnreadGpus:
    """Snapshot for a supervisor that does not read GPUs."""

    driver_version: str | None = None
    cuda_version: str | None = None
    gpus: list[Mapping[str, JsonValue]] = field(default_factory=list)
    memory_by_pid: Mapping[int, int | None] = field(default_factory=dict)
    reason: str | None = "the GPUs were not read"


def freeze(run: Run, gpus: GpuSnapshot) -> dict[str, JsonValue]:
    """Return the provenance of a run; unknown values are None with a reason beside them ('package_reason')."""
    assert run.run_dir
    spec = read_spec(Path(run.run_dir))
    return {
        "words": [mask_text(word) for word in spec["argv"]],
        "cwd": spec["cwd"],
        "environment": mask_env({**_recorded_variables(os.environ), **spec["env"]}),
        **_package(run),
        **_model(run, Path(spec["cwd"])),
        "gpus": [dict(gpu) for gpu in gpus.gpus],
        "gpus_reason": gpus.reason,
        "driver_version": gpus.driver_version,
        "cuda_version": gpus.cuda_version,
        "host": describe_host(),
    }


def _recorded_variables(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in sorted(environ.items()) if name.startswith(RECORDED_PREFIXES)}


def describe_host() -> dict[str, JsonValue]:
    """Return name, system, CPU and memory of this machine."""
    return {
        "name": socket.gethostname(),
        "system": platform.platform(),
        "cpu": _cpu_model(),
        "cores": psutil.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
    }


def _cpu_model(path: Path = Path("/proc/cpuinfo")) -> str | None:
    lines = path.read_text().splitlines() if path.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


def _package(run: Run) -> dict[str, JsonValue]:
    """Return name and version of the engine's Python package beside the executable; none for an image."""
    if run.config.image:
        return {"package": None, "package_reason": "it runs in a container image: see its digest"}
    names = PACKAGES.get(run.config.engine, ())
    package = next((f"{d.metadata['Name']} {d.version}" for d in _distributions(run, names)), None)
    reason = None if package else "no Python package of this engine beside the executable"
    return {"package": package, "package_reason": reason}


def _distributions(run: Run, names: tuple[str, ...]) -> Iterator[metadata.Distribution]:
    word = run.config.executable or (run.config.argv[0] if run.config.argv else "")
    executable = shutil.which(word, path=run.config.env.get("PATH")) if word else None
    if executable is None:
        return
    site_packages = [
        str(folder) for folder in Path(executable).absolute().parent.parent.glob("lib/python*/site-packages")
    ]
    for name in names:
        yield from metadata.distributions(name=name, path=site_packages)


def _model(run: Run, cwd: Path) -> dict[str, JsonValue]:
    """Return the model's path, revision, shape and weights, and the SHA-256 of its other files that define it."""
    model = run.config.model
    if model is None:
        return {"model": None, "model_reason": "the command names no model"}
    try:
        model_path = find_model(run.config, cwd, os.environ | run.config.env)
        facts = _model_facts(model_path) if model_path else {}
    except (OSError, RuntimeError, PitwallError) as error:  # no permission, or an unknown home folder
        return {"model": {"name": model}, "model_reason": f"it could not be read: {error}"}
    reason = "its path is inside the container" if run.config.image else "it was not on this machine at the start"
    return {"model": {"name": model, **facts}, "model_reason": None if facts else reason}


def _model_facts(model_path: Path) -> dict[str, JsonValue]:
    revision = {"revision": model_path.name} if model_path.parent.name == SNAPSHOTS else {}
    files = {} if model_path.is_file() else {"files": _files(model_path)}
    return {"path": str(model_path.resolve()), **revision, **files, **_weights(model_path), **_shape(model_path)}


def _weights(model_path: Path) -> dict[str, JsonValue]:
    """Return the identity of its weights, or why it is not known."""
    try:
        return {"weights": identify_weights(model_path)}
    except WeightsUnreadError as error:
        return {"weights": None, "weights_reason": str(error)}


def _files(model_path: Path) -> dict[str, JsonValue]:
    paths = [model_path / name for name in HASHED_FILES] + sorted(model_path.glob(INDEX_PATTERN))[:MOST_INDEXES]
    return {path.name: _hash_file(path) for path in paths if path.is_file()}


def _shape(model_path: Path) -> dict[str, JsonValue]:
    """Return layers and heads from config.json, so that they are known after the folder is gone."""
    try:
        return {"shape": shape_of(read_object(model_path / CONFIG, LARGEST_CONFIG_BYTES))}
    except (OSError, RuntimeError, NotRegularError, ValueError):
        return {}


def _hash_file(path: Path) -> dict[str, JsonValue]:
    """Return size and hash of one file, following a link of the hub's cache once; no hash if it is too large."""
    with open_regular(pin_path(path)) as file:
        content = file.read(LARGEST_BYTES + 1)
        size = os.fstat(file.fileno()).st_size
    if len(content) > LARGEST_BYTES:
        return {"bytes": size, "sha256": None, "sha256_reason": f"it is larger than {LARGEST_BYTES >> 20} MiB"}
    return {"bytes": size, "sha256": hashlib.sha256(content).hexdigest()}
