"""Applies an edited Config to its command: only changed words are rewritten."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from domain import Config
from engines import BY_NAME
from engines.base import CommandLine
from engines.flag_table import Item

LAUNCH_FIELDS = {"argv", "engine", "engine_version", "launcher", "image", "executable", "gpus", "env", "volumes"}
SERVER_FIELDS = [name for name in Config.model_fields if name not in {*LAUNCH_FIELDS, "sampling", "unknown_flags"}]


def changed_fields(old: Config, new: Config) -> list[str]:
    """Return the fields of the server's command line that differ."""
    return [name for name in SERVER_FIELDS if getattr(old, name) != getattr(new, name)]


def reword_args(args: Sequence[str], old: Config, new: Config) -> list[str]:
    """Edit the words after the executable from `old` to `new`; other words keep their positions."""
    commands = BY_NAME[new.engine].commands
    assert commands
    editor = _Editor(commands, old, new)
    words = [word for item in commands.TABLE.split(args) for word in editor.rewrite_item(item)]
    model_index = 1 if words[:1] == ["serve"] else 0
    return [*words[:model_index], *editor.missing_model(), *words[model_index:], *editor.missing_flags()]


class _Editor:
    """One pass over a command's flags: changed fields keep their position, new ones are appended."""

    def __init__(self, commands: CommandLine, old: Config, new: Config) -> None:
        self._commands, self._old, self._new = commands, old, new
        self._pending_fields = changed_fields(old, new)
        self._dropped = [text for text in old.unknown_flags if text not in new.unknown_flags]

    def rewrite_item(self, item: Item) -> list[str]:
        """Return the words of a flag in the new command."""
        if item.text in self._dropped:
            self._dropped.remove(item.text)
            return []
        fields = self._commands.read_command(item.words, {}).fields
        field = next((name for name in fields if getattr(self._old, name) != getattr(self._new, name)), None)
        if field is None:
            return list(item.words)
        if field not in self._pending_fields:  # a repeated flag is written once
            return []
        self._pending_fields.remove(field)
        if field == "model" and self._new.model:
            return (
                [*item.words[:-1], self._new.model] if "=" not in item.words[0] else [f"{item.name}={self._new.model}"]
            )
        return _merge_json(item, self._words_for(self._old, field), self._words_for(self._new, field))

    def missing_model(self) -> list[str]:
        """Return the model if no word named it and the engine takes it without a flag."""
        words = self._words_for(self._new, "model") if "model" in self._pending_fields else []
        if words[:1] != [self._new.model]:
            return []
        self._pending_fields.remove("model")
        return words

    def missing_flags(self) -> list[str]:
        """Return the flags for fields that no word stated."""
        new_flags = [text for text in self._new.unknown_flags if text not in self._old.unknown_flags]
        field_words = [word for field in self._pending_fields for word in self._words_for(self._new, field)]
        return field_words + self._write({"unknown_flags": new_flags})

    def _words_for(self, config: Config, field: str) -> list[str]:
        return self._write({field: getattr(config, field)})

    def _write(self, fields: dict[str, Any]) -> list[str]:
        base = Config(engine=self._new.engine, executable=self._new.executable)
        start = len(self._commands.write_command(base))
        return self._commands.write_command(base.model_copy(update=fields))[start:]


def _merge_json(item: Item, before: list[str], after: list[str]) -> list[str]:
    """`after`, keeping the keys of a JSON value that Config has no field for."""
    try:
        item_value, old_value, new_value = (json.loads(words[-1]) for words in (item.words, before, after))
    except (ValueError, IndexError):
        return after
    if not all(isinstance(value, dict) for value in (item_value, old_value, new_value)):
        return after
    merged = {key: value for key, value in item_value.items() if key not in old_value or key in new_value} | new_value
    return [*after[:-1], json.dumps(merged, separators=(",", ":"))]
