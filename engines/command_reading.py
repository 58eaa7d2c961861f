"""Converts flags to Config fields and back, as far as all engines agree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from domain import Config, JsonValue
from engines.base import CommandReading
from engines.flag_table import FlagTable, Item, words_of_flag

ValueKind = Literal["text", "integer", "number", "true", "false"]
LARGEST_PORT = 65535
MOST_TYPOS = 200  # unknown flags that are compared with the known ones
_INTEGER = re.compile(r"\d{1,18}$")
_NUMBER = re.compile(r"\d{1,18}(\.\d{1,18})?$|\.\d{1,18}$")
_SUFFIXED = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)([kmgtKMGT])$")
_POWERS = "kmgt"


class Key(NamedTuple):
    """Config field of a flag ('speculative.model' for a nested one) and the kind of its value."""

    field: str
    kind: ValueKind = "text"


@dataclass
class ReadingDraft:
    """A reading in the making."""

    fields: dict[str, JsonValue] = field(default_factory=dict)
    unknown_flags: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def state(self, path: str, value: JsonValue) -> None:
        """Set a field; the last value wins, and None makes it unknown."""
        outer, _, inner = path.partition(".")
        target = self.fields.setdefault(outer, {}) if inner else self.fields
        target.pop(inner or outer, None)
        if value is not None:
            target[inner or outer] = value
        if inner and not target:
            del self.fields[outer]

    def reading(self) -> CommandReading:
        """Return the reading so far; it shares the draft's lists, so later additions appear in it."""
        return CommandReading(self.fields, self.unknown_flags, self.warnings)


def read_integer(text: str, has_suffixes: bool = False) -> int | None:
    """Parse '32768', and with suffixes '32K' (32 * 1024) and '32k' (32 * 1000), like vLLM."""
    if _INTEGER.match(text):
        return int(text)
    match = _SUFFIXED.match(text) if has_suffixes else None
    if not match:
        return None
    power = _POWERS.index(match[2].lower()) + 1
    return int(float(match[1]) * (1000 if match[2].islower() else 1024) ** power)


@dataclass(frozen=True)
class Grammar:
    """One engine's flags and their Config fields."""

    table: FlagTable
    keys: Mapping[str, Key]  # by the flag's canonical name
    has_suffixes: bool = False

    def key_of(self, item: Item) -> Key | None:
        """Return the key of this flag under any of its names; None for an unknown flag or one without a field."""
        names = item.flag.names if item.flag else ()
        return next((self.keys[name] for name in names if name in self.keys), None)

    def read(self, items: Iterable[Item], draft: ReadingDraft) -> None:
        """Read flags into the draft; flags without a Config field are kept as written."""
        for item in items:
            key = self.key_of(item)
            if key is None:
                draft.unknown_flags.append(item.text)
                self._warn_of_typo(item, draft)
            else:
                self.read_value(item, key, draft)

    def read_value(self, item: Item, key: Key, draft: ReadingDraft) -> None:
        """Set the field of a flag, or warn why it stays unknown."""
        value = item.values[0] if item.values else None
        if key.kind in ("true", "false"):
            is_set = (value or "true").lower() not in ("false", "0") and not item.is_negated
            draft.state(key.field, is_set == (key.kind == "true"))
        elif value is None:
            draft.warnings.append(f"{item.name} has no value")
        elif key.kind == "text":
            draft.state(key.field, value)
            if len(item.values) > 1:
                draft.warnings.append(f"{item.name} has further values: {' '.join(item.values[1:])}")
        else:
            draft.state(key.field, self._read_number(item, key, value, draft))

    def _read_number(self, item: Item, key: Key, value: str, draft: ReadingDraft) -> float | int | None:
        if key.kind == "integer":
            number: float | int | None = read_integer(value, self.has_suffixes)
        else:
            number = float(value) if _NUMBER.match(value) else None
        if number is None:
            if "$" in value:
                draft.warnings.append(f"{key.field} is unknown: {value}")
            elif value in ("auto", "-1"):  # 'as large as fits': a choice, not a number
                draft.unknown_flags.append(item.text)
            else:
                draft.warnings.append(f"{item.name}: {value!r} is not a number, the value is unknown")
        if number == 0 and key.field == "max_model_len":  # that of the model
            draft.unknown_flags.append(item.text)
            return None
        if number is not None and key.field == "port" and not 0 < number <= LARGEST_PORT:
            draft.warnings.append(f"{item.name}: {value} is not a port (1 to {LARGEST_PORT})")
            return None
        if number is not None and key.field == "gpu_memory_fraction" and number > 1:
            draft.warnings.append(f"{item.name}: {value} is more than all memory (use a fraction from 0 to 1)")
        return number

    def _warn_of_typo(self, item: Item, draft: ReadingDraft) -> None:
        if item.flag or not item.name or (self.table.glued_switch and self.table.glued_switch.fullmatch(item.name)):
            return
        if len(draft.unknown_flags) > MOST_TYPOS:
            return
        if nearest := self.table.nearest(item.name):
            draft.warnings.append(f"{item.name} is not a known flag of this engine; did you mean {nearest}?")

    def write(self, config: Config, leave_out: Sequence[str] = ()) -> list[str]:
        """Return the flags for this config's fields, then its unknown flags."""
        fields = config.model_dump(exclude_none=True)
        fields |= {f"speculative.{name}": value for name, value in (fields.pop("speculative", None) or {}).items()}
        words: list[str] = []
        for flag, key in self.keys.items():
            if key.field in fields and key.field not in leave_out:
                words += write_flag(flag, key, fields.pop(key.field))
        for text in config.unknown_flags:
            words += self._split_unknown(text)
        return words

    def _split_unknown(self, text: str) -> list[str]:
        name, *values = words_of_flag(text)
        flag, _ = self.table.find(name)
        takes_many = flag is not None and flag.takes == "many"
        return [name, *(word for value in values for word in (value.split(" ") if takes_many else [value]))]


def write_flag(flag: str, key: Key, value: JsonValue) -> list[str]:
    """Return the flag's words, such as '--port 8000'; a switch that is off becomes '--no-…' if the engine has it."""
    if key.kind == "true":
        return [flag] if value else ["--no-" + flag.removeprefix("--")]
    if key.kind == "false":
        return [] if value else [flag]
    return [flag, str(value)]


def read_model_words(items: Sequence[Item], draft: ReadingDraft, is_subcommand: bool = True) -> None:
    """Read the model named without a flag ('vllm serve MODEL'); warn about a second model or leftover words."""
    words = [item.values[0] for item in items]
    if is_subcommand and words[:1] == ["serve"]:
        words = words[1:]
    if not words:
        return
    flag_model = draft.fields.get("model")
    if flag_model is not None and words[0].startswith("$"):  # `--model X $EXTRA_ARGS`
        words.insert(0, str(flag_model))
    if flag_model is not None and flag_model != words[0]:
        draft.warnings.append(f"the command names two models: {words[0]} and {flag_model} (by flag)")
    draft.fields["model"] = words[0]
    draft.warnings += [f"{word!r} is left over: no flag takes it" for word in words[1:]]
