"""Reads YAML as values with line numbers, and collects remarks on values that a study cannot express."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from commands.study_file import StudyFileError


@dataclass(frozen=True, slots=True)
class RecipeEntry:
    """A value of the file; a mapping's `value` has entries by key, a list's `value` entries in order."""

    value: Any
    line: int

    @property
    def plain(self) -> Any:
        """The value without line numbers."""
        if isinstance(self.value, dict):
            return {key: entry.plain for key, entry in self.value.items()}
        return [entry.plain for entry in self.value] if isinstance(self.value, list) else self.value


@dataclass(slots=True)
class RecipeRemarks:
    """Values that cannot be expressed, and deviations from the recipe, each with name and line."""

    refused: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def refuse(self, name: str, line: int, reason: str) -> None:
        """Record that a study cannot express the recipe's `name`, and why."""
        self.refused.append(f"{name} (line {line}): {reason}")

    def note(self, name: str, line: int, text: str) -> None:
        """Record a deviation from the recipe under `name`."""
        self.notes.append(f"{name} (line {line}): {text}")


def read_yaml(text: str, name: str) -> RecipeEntry:
    """Read the single document of a text; raises StudyFileError if it is not a plain YAML mapping."""
    loader = yaml.SafeLoader(text)
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            raise StudyFileError(f"{name} has an alias (*): replace it with its value.")
        node = loader.get_single_node()
        entry = None if node is None else _entry(node, loader, name)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise StudyFileError(f"{name} is not valid YAML{line}: {error.problem or error.context}.") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise StudyFileError(f"{name} is not valid YAML: {type(error).__name__}.") from error
    finally:
        loader.dispose()
    if entry is None or not isinstance(entry.value, dict):
        raise StudyFileError(f"{name} is not a recipe: it is not a mapping.")
    return entry


def _entry(node: yaml.Node, loader: yaml.SafeLoader, name: str) -> RecipeEntry:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        return RecipeEntry(dict(_pairs(node, loader, name)), line)
    if isinstance(node, yaml.SequenceNode):
        return RecipeEntry([_entry(child, loader, name) for child in node.value], line)
    return RecipeEntry(loader.construct_object(node), line)


def _pairs(node: yaml.MappingNode, loader: yaml.SafeLoader, name: str) -> Iterator[tuple[str, RecipeEntry]]:
    """The entries of a mapping; a value has the line of its key."""
    keys: set[str] = set()
    for key_node, value_node in node.value:
        key, line = str(getattr(key_node, "value", "")), key_node.start_mark.line + 1
        if key in keys:
            raise StudyFileError(f"{name}, line {line}: {key} is a duplicate key.")
        keys.add(key)
        yield key, RecipeEntry(_entry(value_node, loader, name).value, line)


def mapping(entry: RecipeEntry | None, name: str) -> Mapping[str, RecipeEntry]:
    """Return the keys of a block; empty if it is absent. Raises StudyFileError if it is not a mapping."""
    if entry is None or entry.value is None:
        return {}
    if not isinstance(entry.value, dict):
        raise StudyFileError(f"{name}, line {entry.line}: expected a mapping.")
    return entry.value


def items(entry: RecipeEntry | None, name: str) -> list[RecipeEntry]:
    """Return the entries of a list; empty if it is absent. Raises StudyFileError if it is not a list."""
    if entry is None or entry.value is None:
        return []
    if not isinstance(entry.value, list):
        raise StudyFileError(f"{name}, line {entry.line}: expected a list.")
    return entry.value


def whole_number(entry: RecipeEntry, name: str, minimum: int = 1) -> int:
    """Return an integer of at least `minimum`; raises StudyFileError."""
    if isinstance(entry.value, bool) or not isinstance(entry.value, int) or entry.value < minimum:
        raise StudyFileError(f"{name}, line {entry.line}: expected a whole number of at least {minimum}.")
    return entry.value


def text_of(entry: RecipeEntry | None, name: str, line: int) -> str:
    """Return a text that is not empty; raises StudyFileError."""
    if entry is None or not isinstance(entry.value, str) or not entry.value.strip():
        raise StudyFileError(f"{name}, line {entry.line if entry else line}: a text is missing.")
    return entry.value.strip()
