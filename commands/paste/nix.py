"""Rewrites the service or container of a NixOS module as the command that it runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from shlex import join, quote

from commands.paste.nix_services import rewrite_nix_service
from commands.paste.nix_values import NixReader, Value

MAX_TEXT = 100_000  # characters
_IS_NIX = re.compile(r"oci-containers|serviceConfig|ExecStart[ \t]*=[ \t]*[\"']|^\s*\{[^{}\n]*\bpkgs\b", re.MULTILINE)
_LET = re.compile(r"^[ \t]*let[ \t]*$", re.MULTILINE)
_PACKAGE = re.compile(r"\$\{[\w.-]+\}/bin/")
_EXECUTABLE = re.compile(r"\$\{lib\.getExe'[ \t]+[\w.-]+[ \t]+\"([\w.-]+)\"\}")
_COMMANDS = ("ExecStart", "script")
_LISTS = {"ports": "-p", "volumes": "-v"}
_MOST_SETS = 5000


def rewrite_nix(text: str) -> str:
    """Return the command of a NixOS module as shell text; other texts stay as they are."""
    if len(text) > MAX_TEXT:
        return text
    if service := rewrite_nix_service(text):
        return service
    is_module = _IS_NIX.search(text) is not None
    if not is_module and not _LET.search(text):
        return text
    reader = NixReader(text if text.lstrip()[:1] in "{l#" else f"{{{text}}}")
    root = reader.read()
    for node in _sets_in(root) if is_module else ():
        if command := _command_of(node, root, reader):
            return command
    return _program(reader.filled(text)) if reader.names else text


def _sets_in(root: dict[str, Value]) -> Iterator[dict[str, Value]]:
    """Yield the sets of a set, outer ones first."""
    waiting: list[Value] = [root]
    for value in waiting:
        if isinstance(value, dict):
            yield value
        if isinstance(value, dict | list) and len(waiting) < _MOST_SETS:
            waiting += value.values() if isinstance(value, dict) else value


def _command_of(node: dict[str, Value], root: dict[str, Value], reader: NixReader) -> str | None:
    """The command of a unit, or of a container; None for another set."""
    for name in _COMMANDS:
        if name in node:
            value = reader.resolve(node[name])
            words = join(reader.items_of(value)) if isinstance(value, list) else reader.text_of(value)
            return "\n".join([*_exports(node, root, reader), _program(words)])
    image = reader.text_of(node["image"]) if "image" in node else ""
    return _container(node, image, reader) if image and "/" in image else None


def _exports(node: dict[str, Value], root: dict[str, Value], reader: NixReader) -> list[str]:
    """The variables of a unit: they stand beside its command, or beside the set that has it."""
    parents = [parent for parent in _sets_in(root) if any(value is node for value in parent.values())]
    environments = [reader.resolve(unit["environment"]) for unit in (node, *parents) if "environment" in unit]
    pairs = environments[0].items() if environments and isinstance(environments[0], dict) else ()
    return [f"export {name}={quote(reader.text_of(value))}" for name, value in pairs if name.isidentifier()]


def _program(text: str) -> str:
    """A command whose programs stand without the package that has them."""
    return _PACKAGE.sub("", _EXECUTABLE.sub(r"\1", text))


def _container(node: dict[str, Value], image: str, reader: NixReader) -> str:
    def items(name: str) -> list[str]:
        value = reader.resolve(node.get(name, []))
        return reader.items_of(value if isinstance(value, list) else [value])

    environment = reader.resolve(node.get("environment", {}))
    pairs = environment.items() if isinstance(environment, dict) else ()
    words = ["podman", "run", *(word for name, value in pairs for word in ("-e", f"{name}={reader.text_of(value)}"))]
    words += [word for name, flag in _LISTS.items() for item in items(name) for word in (flag, item)]
    words += ["--entrypoint", reader.text_of(node["entrypoint"])] if "entrypoint" in node else []
    return join([*words, *items("extraOptions"), image, *items("cmd")])
