"""Rewrites NixOS services that start a server: an engine's own module, and llama-swap with its settings."""

from __future__ import annotations

import re
from shlex import join
from typing import Any

import yaml

from commands.paste.nix_values import NixReader, Value
from commands.paste.servers import INVOCATIONS

MAX_TEXT = 100_000  # characters
PROGRAMS = {
    invocation.nixos_service: invocation.first_words[0]
    for invocation in INVOCATIONS.values()
    if invocation.nixos_service
}
SWAP = "llama-swap"  # its settings are the file that it reads
_IS_SERVICE = re.compile(rf"\b(?:{'|'.join([*PROGRAMS, SWAP])})[ \t]*[.=]")
_OPTIONS = {"model": "-m", "host": "--host", "port": "--port"}
_EXECUTABLE = re.compile(r"\$\{lib\.getExe'[ \t]+[\w.-]+[ \t]+\"([\w.-]+)\"\}|\$\{(?:pkgs\.)?[\w-]+\}/bin/([\w.-]+)")
_NAME = re.compile(r"[A-Za-z_]\w*")


def rewrite_nix_service(text: str) -> str | None:
    """Return the command of an engine's service, or llama-swap's settings as YAML; None for any other text."""
    if len(text) > MAX_TEXT or not _IS_SERVICE.search(text):
        return None
    reader = NixReader(text)
    root = reader.read()
    services = root.get("services")
    if not isinstance(services, dict):
        return None
    for name, program in PROGRAMS.items():
        if isinstance(service := services.get(name), dict):
            return "\n".join([*_exports(root, name, reader), join(_words(program, service, reader))])
    swap = services.get(SWAP)
    settings = swap.get("settings") if isinstance(swap, dict) else None
    if not isinstance(settings, dict):
        return None
    return yaml.safe_dump(_plain(settings, reader), sort_keys=False, width=10_000)


def _words(program: str, service: dict[str, Value], reader: NixReader) -> list[str]:
    words = [program]
    for name, flag in _OPTIONS.items():
        if name in service:
            words += [flag, reader.text_of(service[name])]
    if "extraFlags" in service:
        flags = reader.resolve(service["extraFlags"])
        words += reader.items_of(flags) if isinstance(flags, list) else [reader.text_of(flags)]
    return words


def _exports(root: dict[str, Value], name: str, reader: NixReader) -> list[str]:
    """The variables of the service's unit."""
    node: Any = root
    for key in ("systemd", "services", name, "environment"):
        node = node.get(key) if isinstance(node, dict) else None
    pairs = node.items() if isinstance(node, dict) else ()
    return [f"export {join([f'{key}={reader.text_of(value)}'])}" for key, value in pairs if _NAME.fullmatch(key)]


def _plain(value: Value, reader: NixReader) -> Any:
    """A value as YAML has it."""
    resolved = reader.resolve(value)
    if isinstance(resolved, dict):
        return {name: _plain(item, reader) for name, item in resolved.items()}
    if isinstance(resolved, list):
        return [_plain(item, reader) for item in resolved]
    text = reader.text_of(resolved)
    return _EXECUTABLE.sub(lambda match: match[1] or match[2], text).replace("\\$", "$")
