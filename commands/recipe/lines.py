"""A YAML text as values that know their line, and what is said of those that a study has no place for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from commands.study_file import StudyFileError


@dataclass(frozen=True, slots=True)
class Told:
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


def read_yaml(text: str, name: str) -> Told:
    """The one document of a text; raises StudyFileError for what is no plain YAML mapping."""
    loader = yaml.SafeLoader(text)
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            raise StudyFileError(f"{name} has an alias (*): write its value out.")
        node = loader.get_single_node()
        told = None if node is None else _told(node, loader, name)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise StudyFileError(f"{name} is no YAML{line}: {error.problem or error.context}.") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise StudyFileError(f"{name} is no YAML: {type(error).__name__}.") from error
    finally:
        loader.dispose()
    if told is None or not isinstance(told.value, dict):
        raise StudyFileError(f"{name} is no recipe: its keys are missing.")
    return told


def _told(node: yaml.Node, loader: yaml.SafeLoader, name: str) -> Told:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        return Told(dict(_pairs(node, loader, name)), line)
    if isinstance(node, yaml.SequenceNode):
        return Told([_told(one, loader, name) for one in node.value], line)
    return Told(loader.construct_object(node), line)


def _pairs(node: yaml.MappingNode, loader: yaml.SafeLoader, name: str) -> Iterator[tuple[str, Told]]:
    """A key stands where its value is told: on the key's line."""
    met: set[str] = set()
    for key_node, value_node in node.value:
        key, line = str(getattr(key_node, "value", "")), key_node.start_mark.line + 1
        if key in met:
            raise StudyFileError(f"{name}, line {line}: {key} is there twice.")
        met.add(key)
        yield key, Told(_told(value_node, loader, name).value, line)


def mapping(told: Told | None, name: str) -> Mapping[str, Told]:
    """The keys of a block; none where it is not there. Raises StudyFileError where it is something else."""
    if told is None or told.value is None:
        return {}
    if not isinstance(told.value, dict):
        raise StudyFileError(f"{name}, line {told.line}: a mapping is expected.")
    return told.value


def items(told: Told | None, name: str) -> list[Told]:
    """The entries of a list, likewise."""
    if told is None or told.value is None:
        return []
    if not isinstance(told.value, list):
        raise StudyFileError(f"{name}, line {told.line}: a list is expected.")
    return told.value


def whole(told: Told, name: str, least: int = 1) -> int:
    """A whole number; raises StudyFileError."""
    if isinstance(told.value, bool) or not isinstance(told.value, int) or told.value < least:
        raise StudyFileError(f"{name}, line {told.line}: a whole number from {least} on is expected.")
    return told.value


def text_of(told: Told | None, name: str, line: int) -> str:
    """A text that is there; raises StudyFileError."""
    if told is None or not isinstance(told.value, str) or not told.value.strip():
        raise StudyFileError(f"{name}, line {told.line if told else line}: a text is missing.")
    return told.value.strip()
