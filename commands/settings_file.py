"""Reads the settings file of a server's command, if the paste writes it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import yaml

from commands.bounded_yaml import load_documents
from commands.paste.candidates import Candidate
from commands.paste.files import HEREDOC_NOTE, WrittenFiles
from commands.paste.notes import Notes
from domain import JsonValue
from engines.base import CommandReading, Engine, SettingsFile

_OPEN, _CLOSE = "\ue000", "\ue001"
_BRACED_REFERENCE = re.compile(r"\$\{([^{}\n,:\[\]]{1,200}(?:,[ ]?)?)\}")
_REFERENCE_LINE = re.compile(r"^[ \t]*\$(?:\w+|\{[^}\n]*\})[ \t]*(?:\n|\Z)", re.MULTILINE)


def with_settings(
    reading: CommandReading, candidate: Candidate, engine: Engine, files: WrittenFiles, notes: Notes
) -> CommandReading:
    """Return the reading with the settings of the file that the command names; notes a file that cannot be read."""
    settings_file = engine.settings_file
    if settings_file is None or engine.commands is None or candidate.server is None:
        return reading
    for item in engine.commands.TABLE.split(candidate.server.engine_args):
        if item.flag and settings_file.flag in item.flag.names and item.values:
            volumes = candidate.container.volumes if candidate.container else []
            text = files.read(item.values[0], volumes)
            settings = _parse(text) if text is not None else None
            if text is None or settings is None:
                notes.add(notes.warnings, f"more settings come from {item.values[0]}")
                continue
            settings = _certain(settings, files.other_texts(text), item.values[0], notes)
            _drop_notes(text, files, notes)
            notes.take(files.notes_of(text))
            reading = _merged(reading, settings_file, settings, item.values[0], item.text)
    return reading


def _parse(text: str) -> Mapping[str, Any] | None:
    """The settings of a YAML or JSON text, without lines that stand for unknown ones; None if it is no mapping."""
    for attempt in dict.fromkeys((text, *_without_references(text))):
        try:
            documents = load_documents(attempt)
        except (yaml.YAMLError, ValueError):
            continue
        if len(documents) == 1 and isinstance(documents[0], dict):
            return {name: _with_references(value) for name, value in documents[0].items()}
    return None


def _certain(
    settings: Mapping[str, Any], other_texts: Sequence[str] | None, path: str, notes: Notes
) -> Mapping[str, Any]:
    """Return the settings that the file has whatever the conditions are; notes the others with their values."""
    if other_texts is None:
        return settings
    if not other_texts:
        notes.add(notes.warnings, f"a condition of the script decides whether it writes {path}")
    for alternative in (_parse(text) for text in other_texts):
        settings, differences = _common(settings, alternative or {})
        for name, value, other_value in differences:
            values = " or ".join(sorted(map(_written, (value, other_value))))
            notes.add(notes.warnings, f"{path}: {name} is {values}: a condition of the script decides")
    return settings


def _written(value: Any) -> str:
    """Return a setting as the note on it shows it."""
    return "unset" if value is None else value if isinstance(value, str) else json.dumps(value, default=str)


def _common(
    settings: Mapping[str, Any], alternative: Mapping[str, Any], prefix: str = ""
) -> tuple[dict[str, Any], list[tuple[str, Any, Any]]]:
    """Return what two settings share, and the names that differ, with both values."""
    shared: dict[str, Any] = {}
    differences: list[tuple[str, Any, Any]] = []
    for name in dict.fromkeys((*settings, *alternative)):
        value, other_value = settings.get(name), alternative.get(name)
        if isinstance(value, dict) and isinstance(other_value, dict):
            shared[name], inner_differences = _common(value, other_value, f"{prefix}{name}.")
            differences += inner_differences
        elif value == other_value:
            shared[name] = value
        else:
            differences.append((f"{prefix}{name}", value, other_value))
    return shared, differences


def _without_references(text: str) -> list[str]:
    """Return a text without the lines that are a reference, and with marks for the braces of all others.

    `[${SIZES}]` is no YAML until the shell has put the sizes in.
    """
    known_lines = _REFERENCE_LINE.sub("", text)
    return [known_lines, _BRACED_REFERENCE.sub(lambda match: f"${_OPEN}{match[1]}{_CLOSE}", known_lines)]


def _with_references(value: JsonValue) -> JsonValue:
    """Return the settings with the references as they were written."""
    if isinstance(value, dict):
        return {_with_references(name): _with_references(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_references(item) for item in value]
    return value.replace(_OPEN, "{").replace(_CLOSE, "}") if isinstance(value, str) else value


def _drop_notes(text: str, files: WrittenFiles, notes: Notes) -> None:
    """What was read is not left out."""
    lines = files.lines_of(text)
    notes.left_out = [note for note in notes.left_out if note not in lines]
    if files.unread_heredocs <= 0:
        notes.left_out = [note for note in notes.left_out if note != HEREDOC_NOTE]


def _merged(
    reading: CommandReading, settings_file: SettingsFile, settings: Mapping[str, Any], path: str, flag_text: str
) -> CommandReading:
    """The reading of flags and file; `overrides` decides which wins."""
    file_reading = settings_file.read(settings)
    winner, loser = (file_reading, reading) if settings_file.overrides else (reading, file_reading)
    fields: dict[str, JsonValue] = {**loser.fields, **winner.fields}
    speculations = [part.fields["speculative"] for part in (loser, winner) if part.fields.get("speculative")]
    if len(speculations) == 2:
        fields["speculative"] = {**speculations[0], **speculations[1]}
    flags = list(reading.unknown_flags)
    warnings = [*reading.warnings, *(f"{path}: {text}" for text in file_reading.warnings)]
    if settings_file.is_made_of_flags:
        flags = [flag for flag in flags if flag != flag_text] + file_reading.unknown_flags
    else:
        warnings.append(
            f"more settings come from {path}, which the paste writes: it must be there when the server starts"
        )
    return replace(reading, fields=fields, unknown_flags=flags, warnings=warnings)
