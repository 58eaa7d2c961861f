"""A YAML text as values that know their line, and what is said of those that a study has no place for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from commands.study_file import StudyFileError


@dataclass(frozen=True, slots=True)
class Entry:
    """A value of the file; of a mapping `value` holds Told by key, of a list Told in their order."""

    value: Any
    line: int

    @property
    def plain(self) -> Any:
        """Without lines."""
        if isinstance(self.value, dict):
            return {key: one.plain for key, one in self.value.items()}
        return [one.plain for one in self.value] if isinstance(self.value, list) else self.value


@dataclass(slots=True)
class Remarks:
    """What cannot be expressed, and what is done otherwise than the recipe says; each by its name and line."""

    refused: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def refuse(self, name: str, line: int, why: str) -> None:
        """Note that a study has no place for what the recipe says under `name`, and why."""
        self.refused.append(f"{name} (line {line}): {why}")

    def note(self, name: str, line: int, words: str) -> None:
        """Note what is done otherwise than the recipe says under `name`."""
        self.notes.append(f"{name} (line {line}): {words}")


def read_yaml(text: str, name: str) -> Entry:
    """The one document of a text; raises StudyFileError for what is no plain YAML mapping."""
    loader = yaml.SafeLoader(text)
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            raise StudyFileError(f"{name} has an alias (*): write its value out.")
        node = loader.get_single_node()
        entry = None if node is None else _entry(node, loader, name)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise StudyFileError(f"{name} is no YAML{line}: {error.problem or error.context}.") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise StudyFileError(f"{name} is no YAML: {type(error).__name__}.") from error
    finally:
        loader.dispose()
    if entry is None or not isinstance(entry.value, dict):
        raise StudyFileError(f"{name} is no recipe: its keys are missing.")
    return entry


def _entry(node: yaml.Node, loader: yaml.SafeLoader, name: str) -> Entry:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        return Entry(dict(_pairs(node, loader, name)), line)
    if isinstance(node, yaml.SequenceNode):
        return Entry([_entry(one, loader, name) for one in node.value], line)
    return Entry(loader.construct_object(node), line)


def _pairs(node: yaml.MappingNode, loader: yaml.SafeLoader, name: str) -> Iterator[tuple[str, Entry]]:
    """A key stands where its value is given: on the key's line."""
    met: set[str] = set()
    for key_node, value_node in node.value:
        key, line = str(getattr(key_node, "value", "")), key_node.start_mark.line + 1
        if key in met:
            raise StudyFileError(f"{name}, line {line}: {key} is there twice.")
        met.add(key)
        yield key, Entry(_entry(value_node, loader, name).value, line)


def mapping(entry: Entry | None, name: str) -> Mapping[str, Entry]:
    """The keys of a block; none where it is not there. Raises StudyFileError where it is something else."""
    if entry is None or entry.value is None:
        return {}
    if not isinstance(entry.value, dict):
        raise StudyFileError(f"{name}, line {entry.line}: a mapping is expected.")
    return entry.value


def items(entry: Entry | None, name: str) -> list[Entry]:
    """The entries of a list, likewise."""
    if entry is None or entry.value is None:
        return []
    if not isinstance(entry.value, list):
        raise StudyFileError(f"{name}, line {entry.line}: a list is expected.")
    return entry.value


def whole(entry: Entry, name: str, least: int = 1) -> int:
    """A whole number; raises StudyFileError."""
    if isinstance(entry.value, bool) or not isinstance(entry.value, int) or entry.value < least:
        raise StudyFileError(f"{name}, line {entry.line}: a whole number from {least} on is expected.")
    return entry.value


def text_of(entry: Entry | None, name: str, line: int) -> str:
    """A text that is there; raises StudyFileError."""
    if entry is None or not isinstance(entry.value, str) or not entry.value.strip():
        raise StudyFileError(f"{name}, line {entry.line if entry else line}: a text is missing.")
    return entry.value.strip()
