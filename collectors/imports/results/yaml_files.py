"""Reads results in YAML, as scripts and GuideLLM write them: like the same values in JSON."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.prose import records
from collectors.imports.results.source import HEAD_BYTES, ResultFile
from collectors.imports.results.tool_readers import READERS, ResultReader
from commands.bounded_yaml import load_documents

ENDINGS = (".yaml", ".yml")
MAX_CHARS = 8 << 20  # parsed twice, a second for each 4 MiB
MAX_VALUES = 300_000
NUMBER = re.compile(r"[-+]?(?:\d{1,300}(?:\.\d{0,300})?|\.\d{1,300})(?:[eE][-+]?\d{1,3})?")
WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


def recognise(head: str) -> bool:
    """Return whether YAML begins so and has the results of a tool or of a script."""
    whole_lines = head[: head.rfind("\n") + 1]  # the first bytes end within a line
    return any(_reader_in(text) for text in dict.fromkeys((head, whole_lines)))


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the loads of a file; raises ImportRefusedError."""
    text = source.text()
    content = _as_json(text) if len(text) <= MAX_CHARS else None
    reader = _reader_of(content) if content else None
    if content is None or reader is None:
        raise ImportRefusedError(f"{source.name} is not YAML throughout, or is longer than {MAX_CHARS:,} characters.")
    return reader.read(source.passage(content), ticket)


def is_yaml(source: ResultFile) -> bool:
    """Return whether a file is YAML by its name, and has results."""
    return source.name.lower().endswith(ENDINGS) and recognise(source.head)


def _reader_in(text: str) -> ResultReader | None:
    content = _as_json(text)
    return _reader_of(content) if content else None


def _reader_of(content: str) -> ResultReader | None:
    head = content[:HEAD_BYTES]
    reader = next((reader for reader in READERS if reader.recognise(head)), None)
    return reader or (records if records.recognise(head) else None)


def _as_json(text: str) -> str | None:
    """Return the documents of YAML as JSON, several as a list; None for another text, or if references blow it up."""
    try:
        documents = load_documents(text)
    except (yaml.YAMLError, ValueError):
        return None
    if not documents or not isinstance(documents[0], dict | list) or _values_in(documents) > MAX_VALUES:
        return None
    if len(documents) > 1:
        return json.dumps(_typed(documents)) if all(isinstance(document, dict) for document in documents) else None
    return json.dumps(_typed(documents[0]))


def _values_in(value: Any) -> int:
    """Return how many values a value has, as far as it is allowed to; what is referred to counts each time."""
    values, waiting = 0, [value]
    while waiting and values <= MAX_VALUES:
        item = waiting.pop()
        values += 1
        waiting += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return values


def _typed(value: Any) -> Any:
    """Return a value with its texts as numbers and truths where they are written so."""
    if isinstance(value, dict):
        return {str(name): _typed(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    if value.lower() in WORDS:
        return WORDS[value.lower()]
    if not NUMBER.fullmatch(value):
        return value
    return int(value) if value.lstrip("+-").isdigit() else float(value)
