"""Rewrites JSON that describes a container or a process as the YAML that says the same.

`docker inspect`, a task of Amazon ECS, a manifest of Kubernetes, and `command` with `args` of an editor or a client.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import yaml

MAX_TEXT = 400_000  # characters
MOST_NODES = 5000
_CONTAINER_LISTS = ("containerDefinitions", "container_definitions")
_PROGRAM_KEYS = ("command", "program", "executable", "cmd")


def rewrite_json(text: str) -> str:
    """Return the YAML of a JSON text with a container or a process; other texts stay as they are."""
    stripped = text.strip().removesuffix(",")
    if len(text) > MAX_TEXT or stripped[:1] not in ("{", "["):
        return text
    try:
        root = json.loads(stripped)
    except (ValueError, RecursionError):
        return text
    if not isinstance(root, dict | list):
        return text
    services = [service for node in _mappings(root) if (service := _inspected(node) or _process(node))]
    services += [
        _task(item) for node in _mappings(root) for name in _CONTAINER_LISTS for item in _dicts(node.get(name))
    ]
    shown = {"services": {f"s{number}": service for number, service in enumerate(services)}} if services else root
    try:
        return yaml.safe_dump(shown, sort_keys=False, width=10_000, allow_unicode=True)
    except RecursionError:  # JSON is read to a greater depth than YAML is written
        return text


def _mappings(root: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects of a value, outer ones first."""
    waiting = [root]
    for value in waiting:
        if isinstance(value, dict):
            yield value
        if isinstance(value, dict | list) and len(waiting) < MOST_NODES:
            waiting += value.values() if isinstance(value, dict) else value


def _inspected(node: dict[str, Any]) -> dict[str, Any] | None:
    """The container that `docker inspect` shows; the variables of its image are not told from its own."""
    words = [node.get("Path"), *_texts(node.get("Args"))]
    if not isinstance(words[0], str) or not isinstance(node.get("Args"), list):
        return None
    config, host = (node[name] if isinstance(node.get(name), dict) else {} for name in ("Config", "HostConfig"))
    image = next((name for name in (config.get("Image"), node.get("Image")) if _is_image(name)), None)
    bindings = host["PortBindings"] if isinstance(host.get("PortBindings"), dict) else {}
    ports = [
        f"{binding['HostPort']}:{target.partition('/')[0]}"
        for target, items in bindings.items() for binding in _dicts(items) if binding.get("HostPort")
    ]  # fmt: skip
    service = {"image": image, "entrypoint": words, "ports": ports, "volumes": _texts(host.get("Binds")),
               "network_mode": host.get("NetworkMode")}  # fmt: skip
    return {name: value for name, value in service.items() if value}


def _is_image(name: Any) -> bool:
    return isinstance(name, str) and bool(name) and not name.startswith("sha256:")


def _task(node: dict[str, Any]) -> dict[str, Any]:
    """The container of a task of Amazon ECS."""
    pairs = {
        item["name"]: item["value"] for item in _dicts(node.get("environment"))
        if isinstance(item.get("name"), str) and isinstance(item.get("value"), str)
    }  # fmt: skip
    ports = [
        f"{item.get('hostPort') or item['containerPort']}:{item['containerPort']}"
        for item in _dicts(node.get("portMappings")) if item.get("containerPort")
    ]  # fmt: skip
    service = {"image": node.get("image"), "entrypoint": _texts(node.get("entryPoint")),
               "command": _texts(node.get("command")), "environment": pairs, "ports": ports}  # fmt: skip
    return {name: value for name, value in service.items() if value}


def _process(node: dict[str, Any]) -> dict[str, Any] | None:
    """The process of `"command": "llama-server", "args": [...]`."""
    program = next((node[name] for name in _PROGRAM_KEYS if isinstance(node.get(name), str)), None)
    if program is None or not isinstance(node.get("args"), list) or "image" in node:
        return None
    pairs = {name: str(value) for name, value in node["env"].items()} if isinstance(node.get("env"), dict) else {}
    return {"cmd": [program, *_texts(node["args"])], **({"env": pairs} if pairs else {})}


def _texts(value: Any) -> list[str]:
    items = value if isinstance(value, list) else []
    return [str(item) for item in items if isinstance(item, str | int | float)]


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
