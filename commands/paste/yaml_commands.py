"""Finds server commands in the texts of any YAML: llama-swap's `cmd:`, SkyPilot's `run:`, a folded block anywhere.

A text that is itself a YAML mapping (a ConfigMap's data, `content:` of a Compose config) is searched like the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from shlex import join
from typing import Any, NamedTuple

import yaml

from commands.bounded_yaml import load_documents
from commands.paste.cleaning import escape_windows_paths
from commands.paste.manifests import with_merge_keys
from commands.paste.servers import SERVER_START

MAX_TEXT = 300_000  # characters of a YAML that is parsed
MOST_NODES = 20_000
MOST_COMMANDS = 50
MOST_MACRO_PASSES = 3  # macros within macros
MAX_FILE_DEPTH = 2  # files within files
_BLOCK = re.compile(r"^(?P<indent>[ \t]*)(?:-[ \t]+)?[\w.\"'-]{1,80}:[ \t]*(?P<style>[>|])[-+\d]{0,2}[ \t]*(?:#.*)?$")
_STARTS_CONTAINER = re.compile(r"\b(?:docker|podman|nerdctl)\s+(?:container\s+)?run\s")
_ENVIRONMENT_KEYS = ("envs", "env", "environment")
_WORD_KEYS = frozenset({"cmd", "command", "args", "run", "exec", "entrypoint", "script", "container_args"})
_KEY = re.compile(r"[A-Za-z_][\w.-]*")
_NAME = re.compile(r"[A-Za-z_]\w*")
_FIRST_KEY = re.compile(r"(?:\s|#[^\n]*\n)*[\w\"'][^\n:]{0,80}:(?:[ \t]|$)", re.MULTILINE)
_COMMENT_LINE = re.compile(r"^[ \t]*#[^\n]*(?:\n|$)", re.MULTILINE)


class YamlCommand(NamedTuple):
    """A text that starts a server, with the variables that stand beside it."""

    text: str
    env: dict[str, str]


@dataclass
class _Search:
    """A search through one document."""

    macros: dict[str, str] = field(default_factory=dict)
    commands: list[YamlCommand] = field(default_factory=list)
    nodes: int = 0
    file_depth: int = 0
    is_llama_swap: bool = False  # whose `cmd` is split into words at blanks and line ends alike

    def visit(self, node: Any, env: Mapping[str, str]) -> None:
        """Collect the commands of a node and of all nodes in it."""
        self.nodes += 1
        if self.nodes > MOST_NODES or len(self.commands) >= MOST_COMMANDS:
            return
        if isinstance(node, dict):
            self._visit_mapping(node, env)
        elif isinstance(node, list):
            for item in node:
                self.visit(item, env)
        elif isinstance(node, str) and _starts_server(text := self._with_macros(node)) and not self._visit_file(node):
            self.commands.append(YamlCommand(_one_line(text) if self.is_llama_swap else text, dict(env)))

    def _visit_file(self, text: str) -> bool:
        """Collect the commands of a text that is a YAML mapping of its own; False for any other text."""
        if self.file_depth >= MAX_FILE_DEPTH or not _FIRST_KEY.match(text):
            return False
        try:
            documents = [node for node in load_documents(text) if isinstance(node, dict)]
        except (yaml.YAMLError, ValueError):
            return False
        search = _Search(nodes=self.nodes, file_depth=self.file_depth + 1)
        for document in documents:
            search.visit(document, {})
        self.commands += search.commands
        self.nodes = search.nodes
        return bool(search.commands)

    def _visit_mapping(self, node: dict[str, Any], env: Mapping[str, str]) -> None:
        node = with_merge_keys(node)
        own_env = {**env, **_environment(node)}
        if isinstance(macros := node.get("macros"), dict):
            self.macros |= {str(name): text.strip() for name, text in macros.items() if isinstance(text, str)}
        if isinstance(models := node.get("models"), dict):
            self.is_llama_swap |= any(isinstance(model, dict) and "cmd" in model for model in models.values())
        for key, value in node.items():
            if key in _WORD_KEYS and isinstance(value, list) and all(isinstance(item, str) for item in value):
                self.visit(value[0] if len(value) == 1 else _as_text(value), own_env)
            elif key != "macros" and (not isinstance(value, str) or _KEY.fullmatch(str(key))):
                self.visit(value, own_env)

    def _with_macros(self, text: str) -> str:
        for _ in range(MOST_MACRO_PASSES):
            if "${" not in text or len(text) > MAX_TEXT:
                break
            for name, value in self.macros.items():
                text = text.replace(f"${{{name}}}", value)
        return escape_windows_paths(text)


def read_yaml_commands(text: str) -> list[YamlCommand]:
    """Return the server commands in the texts of a YAML document; none if it is no mapping."""
    if len(text) > MAX_TEXT or ":" not in text:
        return []
    try:
        documents = [node for node in load_documents(text) if isinstance(node, dict | list)]
        search = _Search()
        for document in documents:
            search.visit(document, {})
    except (yaml.YAMLError, RecursionError, ValueError):
        return []
    return search.commands


def read_folded_blocks(text: str) -> list[str]:
    """Return the server commands in block scalars of a text that is no YAML as a whole."""
    lines = text.split("\n")
    headers = [(at, match) for at, line in enumerate(lines) if len(line) < 200 and (match := _BLOCK.match(line))]
    blocks = [_block(lines, at, match) for at, match in headers[:MOST_COMMANDS]]
    return [block for block in blocks if _starts_server(block)]


def _block(lines: list[str], at: int, match: re.Match[str]) -> str:
    indent = len(match["indent"])
    body: list[str] = []
    for line in lines[at + 1 :]:
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        body.append(line)
    depth = min((len(line) - len(line.lstrip()) for line in body if line.strip()), default=0)
    body = [line[depth:] for line in body]
    return _folded(body) if match["style"] == ">" else "\n".join(body)


def _folded(lines: list[str]) -> str:
    """The lines joined as YAML folds them: an empty or further indented line keeps its break."""
    parts: list[str] = []
    for line in lines:
        is_separate = not line.strip() or line[:1].isspace()
        if parts and not is_separate and not parts[-1].endswith("\n"):
            parts.append(" ")
        parts.append(f"\n{line}\n" if is_separate and parts else line)
    return "".join(parts)


def _one_line(text: str) -> str:
    """A command with its line ends as blanks, unless a line end stands in quotes."""
    lines = _COMMENT_LINE.sub("", text).split("\n")
    if any(line.count(quote) % 2 for line in lines for quote in "'\""):
        return text
    return " ".join(line.strip().removesuffix("\\") for line in lines)


def _starts_server(text: str) -> bool:
    return bool(SERVER_START.search(text) or _STARTS_CONTAINER.search(text))


def _as_text(words: list[str]) -> str:
    """A list as the command that it is, or as the lines of a script."""
    if any(" " in word and _starts_server(word) for word in words):
        return "\n".join(words)
    return join(words)


def _environment(node: Mapping[str, Any]) -> dict[str, str]:
    """The variables that stand in this mapping."""
    env: dict[str, str] = {}
    for key in _ENVIRONMENT_KEYS:
        value = node.get(key)
        pairs: Iterator[tuple[Any, Any]] = iter(())
        if isinstance(value, dict):
            pairs = iter(value.items())
        elif isinstance(value, list):
            pairs = (item.partition("=")[::2] for item in value if isinstance(item, str) and "=" in item)
        env |= {name: text for name, text in pairs if text and isinstance(text, str) and _NAME.fullmatch(str(name))}
    return env
