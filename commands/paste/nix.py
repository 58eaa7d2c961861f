"""Rewrites the service or container of a NixOS module as the command that it runs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from commands.paste.nix_services import rewrite_nix_service

MAX_TEXT = 100_000  # characters
_IS_NIX = re.compile(r"oci-containers|serviceConfig|ExecStart[ \t]*=[ \t]*[\"']|^\s*\{[^{}\n]*\bpkgs\b", re.MULTILINE)
_STRING = r"\"(?P<{0}>(?:[^\"\\]|\\.)*)\"|''(?P<{0}_lines>(?:[^']|'(?!'))*)''"
_COMMAND = re.compile(rf"\b(?:ExecStart|script)[ \t]*=[ \t]*(?:{_STRING.format('text')})[ \t]*;")
_IMAGE = re.compile(r"\bimage[ \t]*=[ \t]*\"([^\"\n]+)\"[ \t]*;")
_LIST = re.compile(r"\b(cmd|ports|volumes|extraOptions)[ \t]*=[ \t]*\[([^\[\]]*)\][ \t]*;")
_ENTRYPOINT = re.compile(r"\bentrypoint[ \t]*=[ \t]*\"([^\"\n]+)\"[ \t]*;")
_ENVIRONMENT = re.compile(r"\benvironment[ \t]*=[ \t]*\{([^{}]*)\}[ \t]*;")
_PAIR = re.compile(r"(\w+)[ \t]*=[ \t]*(\"[^\"\n]*\")[ \t]*;")
_ITEM = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"")
_PACKAGE = re.compile(r"\$\{pkgs\.[\w.-]+\}/bin/")
_LET = re.compile(r"^[ \t]*let[ \t]*$", re.MULTILINE)
_IN = re.compile(r"^[ \t]*in\b", re.MULTILINE)
_BINDING = re.compile(r"^[ \t]*([A-Za-z_][\w'-]*)[ \t]*=[ \t]*(?:\"([^\"\\\n]*)\"|(-?\d+))[ \t]*;", re.MULTILINE)
_BOUND = re.compile(r"(?<!'')(?<!\\)\$\{(?:(?:builtins\.)?toString[ \t]+)?([A-Za-z_][\w'-]*)\}")
_EXECUTABLE = re.compile(r"\$\{lib\.getExe'[ \t]+pkgs\.[\w.-]+[ \t]+\"([\w.-]+)\"\}")


def rewrite_nix(text: str) -> str:
    """Return the command of a NixOS module as shell text; other texts stay as they are."""
    if len(text) > MAX_TEXT or not _IS_NIX.search(text):
        return rewrite_nix_service(text) or _fill_let_values(text)
    text = _fill_let_values(text)
    if service := rewrite_nix_service(text):
        return service
    environment = _ENVIRONMENT.search(text)
    pairs = _PAIR.findall(environment[1]) if environment else []
    if command := _COMMAND.search(text):
        exports = [f"export {name}={value}" for name, value in pairs]
        return "\n".join([*exports, _program(_unescaped(command))])
    image = _IMAGE.search(text)
    return _container(text, image[1], pairs) if image else text


def _fill_let_values(text: str) -> str:
    """The text with the strings and numbers that its first `let` binds, in `${NAME}`; `''${` is a shell's `${`."""
    opening = _LET.search(text) if len(text) <= MAX_TEXT else None
    closing = _IN.search(text, opening.end()) if opening else None
    values: dict[str, str] = {}
    for name, string, number in _BINDING.findall(text, opening.end(), closing.start()) if opening and closing else ():
        values[name] = _fill_names(string or number, values)
    return _fill_names(text, values).replace("''${", "${") if values else text


def _fill_names(text: str, values: Mapping[str, str]) -> str:
    return _BOUND.sub(lambda match: values.get(match[1], match[0]), text)


def _unescaped(command: re.Match[str]) -> str:
    if command["text"] is not None:
        return re.sub(r"\\(.)", r"\1", command["text"])
    return command["text_lines"]


def _program(text: str) -> str:
    """A command whose programs stand without the package that has them."""
    return _PACKAGE.sub("", _EXECUTABLE.sub(r"\1", text))


def _container(text: str, image: str, pairs: list[tuple[str, str]]) -> str:
    lists = {name: _ITEM.findall(body) for name, body in _LIST.findall(text)}
    entrypoint = _ENTRYPOINT.search(text)
    options = [f"-e {name}={value}" for name, value in pairs]
    options += [f"-p {port}" for port in lists.get("ports", [])]
    options += [f"-v {volume}" for volume in lists.get("volumes", [])]
    options += [f"--entrypoint {entrypoint[1]}"] if entrypoint else []
    return " ".join(["podman run", *options, *lists.get("extraOptions", []), image, *lists.get("cmd", [])])
