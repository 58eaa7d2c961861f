"""What a run ran on, recorded once at its start so that it can be reproduced: command, package, model, GPUs, host."""

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
from launcher.processes.process import read_spec
from machine.json_object import read_object
from machine.regular_file import NotRegularError, opened, pinned
from redaction import mask_text

PACKAGES = {engine.name: engine.packages for engine in ENGINES}
# Inherited variables that change how an engine runs.
TELLING = (
    *("CUDA_", "NVIDIA_", "NCCL_", "OMP_", "TORCH", "PYTORCH_", "TRITON_", "FLASHINFER_", "HF_"),
    *("VLLM_", "SGLANG_", "SGL_", "LLAMA_", "GGML_", "TRTLLM_", "TLLM_"),
)
CONFIG = "config.json"
LARGEST_CONFIG_BYTES = 4 << 20
HASHED = (CONFIG, "generation_config.json", "quantize_config.json", "hf_quant_config.json")
INDEX_PATTERN = "*.index.json"
MOST_INDEXES = 16
LARGEST_BYTES = 64 << 20  # of a file that names shape and weights: the index of a trillion parameters has some 20 MB
LONGEST_COMMIT = 200
HEAD_BYTES = 1 << 20  # of a single weight file, where its metadata stands


class GpusNow(Protocol):
    """The machine's GPUs as their driver reports them now."""

    @property
    def driver_version(self) -> str | None: ...
    @property
    def cuda_version(self) -> str | None: ...
    @property
    def gpus(self) -> list[Mapping[str, JsonValue]]:
        """Identity, limits and clocks, one mapping a GPU; empty where none is known."""
        ...

    @property
    def memory_by_pid(self) -> Mapping[int, int | None]:
        """Bytes of GPU memory by process; None of a process where the driver does not say."""
        ...

    @property
    def reason(self) -> str | None:
        """Why nothing is known of the GPUs; None where the driver has answered."""
        ...


@dataclass(frozen=True, slots=True)
class NotAsked:
    """GPUs of which nobody knows."""

    driver_version: str | None = None
    cuda_version: str | None = None
    gpus: list[Mapping[str, JsonValue]] = field(default_factory=list)
    memory_by_pid: Mapping[int, int | None] = field(default_factory=dict)
    reason: str | None = "the GPUs were not asked for"


def freeze(run: Run, gpus: GpusNow) -> dict[str, JsonValue]:
    """Everything that can be known now; what cannot is None beside a reason ('package_reason')."""
    assert run.run_dir
    spec = read_spec(Path(run.run_dir))
    return {
        "words": [mask_text(word) for word in spec["argv"]],
        "cwd": spec["cwd"],
        "environment": mask_env({**_recorded(os.environ), **spec["env"]}),
        **_package(run),
        **_model(run, Path(spec["cwd"])),
        "gpus": [dict(gpu) for gpu in gpus.gpus],
        "gpus_reason": gpus.reason,
        "driver_version": gpus.driver_version,
        "cuda_version": gpus.cuda_version,
        "host": describe_host(),
    }


def _recorded(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in sorted(environ.items()) if name.startswith(TELLING)}


def describe_host() -> dict[str, JsonValue]:
    """The machine: name, system, CPU and memory."""
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
    """Name and version of the engine's Python package beside the executable; an image is named by its digest."""
    if run.config.image:
        return {"package": None, "package_reason": "it runs in an image: see its digest"}
    names = PACKAGES.get(run.config.engine, ())
    found = next((f"{d.metadata['Name']} {d.version}" for d in _distributions(run, names)), None)
    reason = None if found else "no Python package of this engine beside the executable"
    return {"package": found, "package_reason": reason}


def _distributions(run: Run, names: tuple[str, ...]) -> Iterator[metadata.Distribution]:
    word = run.config.executable or (run.config.argv[0] if run.config.argv else "")
    executable = shutil.which(word, path=run.config.env.get("PATH")) if word else None
    if executable is None:
        return
    places = [str(place) for place in Path(executable).absolute().parent.parent.glob("lib/python*/site-packages")]
    for name in names:
        yield from metadata.distributions(name=name, path=places)


def _model(run: Run, cwd: Path) -> dict[str, JsonValue]:
    """The model's files with the SHA-256 of what names its shape and weights; a hub's name with its local snapshot."""
    model = run.config.model
    if model is None:
        return {"model": None, "model_reason": "the command names no model"}
    try:
        place = _place(model, cwd, os.environ | run.config.env)
        facts = {"path": str(place.resolve()), "files": _files(place), **_shape(place)} if place else {}
    except (
        OSError,
        RuntimeError,
        NotRegularError,
    ) as error:  # a folder that may not be entered, a home that nobody has
        return {"model": {"name": model}, "model_reason": f"it may not be read: {error}"}
    reason = "its path is one of the container" if run.config.image else "it is not on this machine at the start"
    return {"model": {"name": model, **facts}, "model_reason": None if facts else reason}


def _place(model: str, cwd: Path, environ: Mapping[str, str]) -> Path | None:
    path = cwd / Path(model).expanduser()
    return path if path.exists() else _snapshot(model, environ)


def _snapshot(model: str, environ: Mapping[str, str]) -> Path | None:
    """Where the hub's cache holds the revision that 'main' named last; its folder's name is the commit."""
    home = Path(environ.get("HF_HOME") or "~/.cache/huggingface").expanduser()
    folder = Path(environ.get("HF_HUB_CACHE") or home / "hub") / f"models--{model.replace('/', '--')}"
    reference = folder / "refs" / "main"
    if not reference.is_file():
        return None
    with opened(pinned(reference)) as file:
        return folder / "snapshots" / file.read(LONGEST_COMMIT).decode("ascii", "replace").strip()


def _files(place: Path) -> dict[str, JsonValue]:
    if place.is_file():
        with opened(pinned(place)) as file:
            head = hashlib.sha256(file.read(HEAD_BYTES)).hexdigest()
        return {place.name: {"bytes": place.stat().st_size, "sha256_of_first_mib": head}}
    named = [place / name for name in HASHED] + sorted(place.glob(INDEX_PATTERN))[:MOST_INDEXES]
    return {path.name: _hashed(path) for path in named if path.is_file()}


def _shape(place: Path) -> dict[str, JsonValue]:
    """Layers and heads as config.json states them, so that they are known when the folder has gone."""
    try:
        return {"shape": shape_of(read_object(place / CONFIG, LARGEST_CONFIG_BYTES))}
    except (OSError, RuntimeError, NotRegularError, ValueError):
        return {}


def _hashed(path: Path) -> dict[str, JsonValue]:
    """Size and hash of one file, a link of the hub's cache followed once; a file too large to be one says so."""
    with opened(pinned(path)) as file:
        content = file.read(LARGEST_BYTES + 1)
        size = os.fstat(file.fileno()).st_size
    if len(content) > LARGEST_BYTES:
        return {"bytes": size, "sha256": None, "sha256_reason": f"it is larger than {LARGEST_BYTES >> 20} MiB"}
    return {"bytes": size, "sha256": hashlib.sha256(content).hexdigest()}
