"""The GPUs to which a configuration restricts its server, where it names them."""

from __future__ import annotations

import re

from domain import Config

CONTAINER_LAUNCHERS = ("podman", "docker", "compose", "kubernetes")
GPU_VARIABLES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
_DEVICE = re.compile(r"device=|[\w.]+/gpu=")


def stated_gpus(config: Config) -> frozenset[str]:
    """Return the GPU indices or UUIDs named by a config; empty if it names none, all, or only a count.

    Reads CUDA_VISIBLE_DEVICES, NVIDIA_VISIBLE_DEVICES, `--gpus device=` and `--device vendor/gpu=`. A count
    ('--gpus 2', a tensor parallel size) does not say which GPUs.
    """
    listed = [config.env[name] for name in GPU_VARIABLES if name in config.env]
    text = (config.gpus or next(iter(listed), "")).strip("\"'")
    is_list = config.launcher not in CONTAINER_LAUNCHERS or text in listed
    if not is_list and not _DEVICE.match(text):
        return frozenset()
    return frozenset(_DEVICE.sub("", word).strip() for word in text.split(",")) - {"", "all"}
