"""The GPUs to which a configuration restricts its server, where it names them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from domain import Config

CONTAINER_LAUNCHERS = ("podman", "docker", "compose", "kubernetes")
GPU_VARIABLES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
_DEVICE = re.compile(r"device=|[\w.]+/gpu=")
_COUNT = "count="  # as of Docker's `--gpus`: a number alone is the index of a GPU where no container starts the server
_SLURM_COUNT = re.compile(
    r"(?:^|\s)(?:--gres[= ](?:[^\s,]+,)*gpu|--gpus-per-(?:node|task)[= ]|--gpus[= ]|-G[= ]?)"
    r"(?::?(?!\d+\b)[A-Za-z][\w.-]*)?:?(?P<count>\d{1,3})?(?=[\s,(]|$)"
)
_SLURM_PER_TASK = "--gpus-per-task"
_SLURM_TASKS = re.compile(r"(?:^|\s)(?:--ntasks(?:-per-node)?[= ]|-n[= ]?)(?P<tasks>\d{1,4})(?=\s|$)")
_SLURM_NODES = re.compile(r"(?:^|\s)(?:--nodes[= ]|-N[= ]?)(?P<nodes>\S+)")
_SLURM_PROGRAMS = ("sbatch", "srun", "salloc")


def stated_gpus(config: Config) -> frozenset[str]:
    """Return the GPU indices or UUIDs named by a config; empty if it names none, all, or only a count.

    Reads CUDA_VISIBLE_DEVICES, NVIDIA_VISIBLE_DEVICES, `--gpus device=` and `--device vendor/gpu=`. A count
    ('--gpus 2', a tensor parallel size) does not say which GPUs.
    """
    listed = [config.env[name] for name in GPU_VARIABLES if name in config.env]
    text = (config.gpus or next(iter(listed), "")).strip("\"'")
    if text.startswith(_COUNT):
        return frozenset()
    is_list = config.launcher not in CONTAINER_LAUNCHERS or text in listed
    if not is_list and not _DEVICE.match(text):
        return frozenset()
    return frozenset(_DEVICE.sub("", word).strip() for word in text.split(",")) - {"", "all"}


def slurm_gpus(launcher_flags: Sequence[str]) -> str | None:
    """Return the GPUs that a Slurm job gets on its only node, as 'count=2'; the step's own options come first.

    None without such an option, and for several nodes: which of them the server uses is not stated. Those of a task
    count for the only task; Slurm wants its number with them.
    """
    match = _first(_SLURM_COUNT, launcher_flags)
    if match is None or slurm_nodes(launcher_flags) not in ("1", "1-1"):
        return None
    tasks = _first(_SLURM_TASKS, launcher_flags)
    is_one_task = tasks is not None and int(tasks["tasks"]) == 1
    return f"{_COUNT}{match['count'] or 1}" if is_one_task or _SLURM_PER_TASK not in match[0] else None


def slurm_nodes(launcher_flags: Sequence[str]) -> str:
    """Return the number of nodes of a Slurm job as it is written; 1 without that option."""
    match = _first(_SLURM_NODES, launcher_flags)
    return match["nodes"] if match else "1"


def _first(pattern: re.Pattern[str], launcher_flags: Sequence[str]) -> re.Match[str] | None:
    """Return the first option of Slurm's that matches."""
    options = (flags for flags in launcher_flags if flags.split(maxsplit=1)[:1] and flags.split()[0] in _SLURM_PROGRAMS)
    return next((match for flags in options if (match := pattern.search(flags))), None)
