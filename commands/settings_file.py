"""Reads the settings file of a server's command, if the paste writes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import yaml

from commands.bounded_yaml import load_documents
from commands.paste.candidates import Candidate
from commands.paste.files import HEREDOC_NOTE, WrittenFiles
from commands.paste.notes import Notes
from domain import JsonValue
from engines.base import CommandReading, Engine, SettingsFile

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
            _drop_notes(text, files, notes)
            notes.take(files.notes_of(text))
            reading = _merged(reading, settings_file, settings, item.values[0], item.text)
    return reading


def _parse(text: str) -> Mapping[str, Any] | None:
    """The settings of a YAML or JSON text, without lines that stand for unknown ones; None if it is no mapping."""
    try:
        documents = load_documents(text)
    except (yaml.YAMLError, ValueError):
        known_lines = _REFERENCE_LINE.sub("", text)
        return _parse(known_lines) if known_lines != text else None
    return documents[0] if len(documents) == 1 and isinstance(documents[0], dict) else None


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
