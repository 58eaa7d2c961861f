"""Finds a run's model on this machine: its path, the folder mounted into a container, or the hub's cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from domain import Config
from engines.flag_table import words_of_flag
from launcher.checks.launch_request import expand_home
from machine.regular_file import open_regular, pin_path

LONGEST_COMMIT = 200
CONTAINER_HOME = Path("/root")
REVISION_FLAG = "--revision"


def mounted_folders(volumes: Sequence[str]) -> dict[str, Path]:
    """Return path in the container -> folder on this machine, for volumes 'FOLDER:PATH[:OPTIONS]'.

    Raises LaunchRefusedError for an unknown home folder.
    """
    volume_parts = [volume.split(":") for volume in volumes]
    return {fields[1]: expand_home(fields[0]) for fields in volume_parts if len(fields) > 1 and fields[0][:1] in "/~."}


def path_outside(path: str, mounts: Mapping[str, Path]) -> Path | None:
    """Return where a path of a container is on this machine; None if no mounted folder contains it."""
    inside = containing_mount(path, mounts)
    return None if inside is None else mounts[inside] / path.removeprefix(inside.rstrip("/")).lstrip("/")


def containing_mount(path: str, mounts: Mapping[str, Path]) -> str | None:
    """Return the innermost mounted path of a container that contains this path."""
    containing = [inside for inside in mounts if f"{path}/".startswith(f"{inside.rstrip('/')}/")]
    return max(containing, key=len, default=None)


def find_model(config: Config, cwd: Path, environ: Mapping[str, str]) -> Path | None:
    """Return the file or folder of the configuration's model; None if it is not on this machine.

    Raises OSError or NotRegularError if it cannot be looked for, and LaunchRefusedError for an unknown home folder.
    """
    model = config.model or ""
    if config.image:
        path = path_outside(model, mounted_folders(config.volumes))
        path = cwd / path if path else None
    else:
        path = cwd / expand_home(model)
    if path is not None and path.exists():
        return path
    cache = _hub_cache(config, environ)
    return _snapshot(cache / f"models--{model.replace('/', '--')}", revision_of(config)) if cache else None


def revision_of(config: Config) -> str:
    """Return the revision that the command names; else 'main'."""
    flags = (words_of_flag(text) for text in config.unknown_flags)
    values = {words[0].partition("=")[0]: words[0].partition("=")[2] or " ".join(words[1:]) for words in flags if words}
    return values.get(REVISION_FLAG) or "main"


def _hub_cache(config: Config, environ: Mapping[str, str]) -> Path | None:
    """Return the hub's cache on this machine, for a container the mounted one."""
    variables = config.env if config.image else environ
    default_home = str(CONTAINER_HOME / ".cache/huggingface") if config.image else "~/.cache/huggingface"
    home = Path(variables.get("HF_HOME") or default_home)
    cache = Path(variables.get("HF_HUB_CACHE") or home / "hub")
    return path_outside(str(cache), mounted_folders(config.volumes)) if config.image else expand_home(cache)


def _snapshot(folder: Path, revision: str) -> Path | None:
    """Return the folder of a commit, or of the one that a branch last pointed to; its name is the commit."""
    if Path(revision).is_absolute() or ".." in Path(revision).parts:
        return None
    commit_folder = folder / "snapshots" / revision
    if commit_folder.is_dir():
        return commit_folder
    reference = folder / "refs" / revision
    if not reference.is_file():
        return None
    with open_regular(pin_path(reference)) as file:
        return folder / "snapshots" / file.read(LONGEST_COMMIT).decode("ascii", "replace").strip()
