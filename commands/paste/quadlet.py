"""Rewrites a quadlet, Podman's unit file of a container, as the `podman run` that it stands for."""

from __future__ import annotations

import re

MOST_LINES = 500
_SECTION = re.compile(r"^\[Container\][ \t]*$", re.MULTILINE)
_SETTING = re.compile(r"[ \t]*([A-Z]\w*)[ \t]*=[ \t]*(.*)")
_ENVIRONMENT = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|[^\s\"']\S*")
_OPTIONS = {
    "PublishPort": "-p",
    "Volume": "-v",
    "AddDevice": "--device",
    "Network": "--network",
    "ShmSize": "--shm-size",
    "EnvironmentFile": "--env-file",
    "ContainerName": "--name",
    "Secret": "--secret",
    "Entrypoint": "--entrypoint",
}


def rewrite_quadlet(text: str) -> str:
    """Return a quadlet as a `podman run`; other texts stay as they are."""
    section = _SECTION.search(text)
    if section is None:
        return text
    body = text[section.end() :].partition("\n[")[0]
    options: list[str] = []
    image = words = ""
    for line in re.sub(r"\\\n[ \t]*", " ", body).split("\n")[:MOST_LINES]:
        setting = _SETTING.fullmatch(line)
        if setting is None:
            continue
        name, value = setting[1], setting[2].strip()
        if name == "Image":
            image = value
        elif name == "Exec":
            words = value
        elif name == "Environment":
            options += [f"-e {pair}" for pair in _ENVIRONMENT.findall(value)]
        elif name == "PodmanArgs":
            options.append(value)
        elif name in _OPTIONS and value:
            options.append(f"{_OPTIONS[name]} {value}")
    if not image:
        return text
    return " ".join(["podman run", *options, image, words])
