"""Applies an edited Config to its command: the original words are kept and only what changed is rewritten."""

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
    """The fields of the server's own command line that differ."""
    return [name for name in SERVER_FIELDS if getattr(old, name) != getattr(new, name)]


def reword_args(args: Sequence[str], old: Config, new: Config) -> list[str]:
    """The words after the executable, reading as `old`, made to read as `new`; others stay where they stand."""
    commands = BY_NAME[new.engine].commands
    assert commands
    editor = _Editor(commands, old, new)
    words = [word for item in commands.TABLE.split(args) for word in editor.keep(item)]
    at = 1 if words[:1] == ["serve"] else 0
    return [*words[:at], *editor.missing_model(), *words[at:], *editor.missing_flags()]


class _Editor:
    """One pass over a command's flags; a changed field is said where it stood, a new one at the end."""

    def __init__(self, commands: CommandLine, old: Config, new: Config) -> None:
        self._commands, self._old, self._new = commands, old, new
        self._unsaid = changed_fields(old, new)
        self._dropped = [text for text in old.unknown_flags if text not in new.unknown_flags]

    def keep(self, item: Item) -> list[str]:
        """The words of a flag as they are to stand in the new command."""
        if item.text in self._dropped:
            self._dropped.remove(item.text)
            return []
        stated = self._commands.read_command(item.words, {}).fields
        field = next((name for name in stated if getattr(self._old, name) != getattr(self._new, name)), None)
        if field is None:
            return list(item.words)
        if field not in self._unsaid:  # said twice before: once is enough
            return []
        self._unsaid.remove(field)
        if field == "model" and self._new.model:
            return (
                [*item.words[:-1], self._new.model] if "=" not in item.words[0] else [f"{item.name}={self._new.model}"]
            )
        return _merge_json(item, self._say(self._old, field), self._say(self._new, field))

    def missing_model(self) -> list[str]:
        """The model where no word named one and the engine takes it without a flag."""
        words = self._say(self._new, "model") if "model" in self._unsaid else []
        if words[:1] != [self._new.model]:
            return []
        self._unsaid.remove("model")
        return words

    def missing_flags(self) -> list[str]:
        """What no word said before."""
        added = [text for text in self._new.unknown_flags if text not in self._old.unknown_flags]
        said = [word for field in self._unsaid for word in self._say(self._new, field)]
        return said + self._write({"unknown_flags": added})

    def _say(self, config: Config, field: str) -> list[str]:
        return self._write({field: getattr(config, field)})

    def _write(self, stated: dict[str, Any]) -> list[str]:
        bare = Config(engine=self._new.engine, executable=self._new.executable)
        start = len(self._commands.write_command(bare))
        return self._commands.write_command(bare.model_copy(update=stated))[start:]


def _merge_json(item: Item, before: list[str], after: list[str]) -> list[str]:
    """`after`, with the keys of a JSON value that Config has no field for kept."""
    try:
        written, ours, new = (json.loads(words[-1]) for words in (item.words, before, after))
    except (ValueError, IndexError):
        return after
    if not all(isinstance(value, dict) for value in (written, ours, new)):
        return after
    merged = {key: value for key, value in written.items() if key not in ours or key in new} | new
    return [*after[:-1], json.dumps(merged, separators=(",", ":"))]
