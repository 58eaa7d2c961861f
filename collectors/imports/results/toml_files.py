"""Reads results in TOML, as scripts write them: tables of runs (`[[runs]]`) like the same values in JSON."""

from __future__ import annotations

import json
import tomllib

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.prose import records
from collectors.imports.results.source import HEAD_BYTES, ResultFile
from machine.toml_text import parse_toml

ENDING = ".toml"
MAX_CHARS = 1 << 20


def is_toml(source: ResultFile) -> bool:
    """Return whether a file is TOML by its name, and has results."""
    return source.name.lower().endswith(ENDING) and _as_json(source) is not None


def recognise(head: str) -> bool:
    """Return whether TOML begins so and has results."""
    content = _json_of(head)
    return content is not None and records.recognise(content[:HEAD_BYTES])


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the loads of a file; raises ImportRefusedError."""
    content = _as_json(source)
    if content is None:
        raise ImportRefusedError(f"{source.name} is not TOML throughout, or is longer than {MAX_CHARS:,} characters.")
    return records.read(source.passage(content), ticket)


def _as_json(source: ResultFile) -> str | None:
    try:
        text = source.text()
    except ImportRefusedError:
        return None
    content = _json_of(text) if len(text) <= MAX_CHARS else None
    return content if content and records.recognise(content[:HEAD_BYTES]) else None


def _json_of(text: str) -> str | None:
    """Return the document as JSON; None for another text. Dates and times are texts."""
    try:
        return json.dumps(parse_toml(text), default=str)
    except (tomllib.TOMLDecodeError, ValueError):
        return None
