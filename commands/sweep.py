"""Sweeps: varies some fields of a configuration over given values; every combination is a configuration."""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from commands.edit import SERVER_FIELDS
from commands.explain import read_argv
from commands.write import CommandError, command_of
from domain import Config, JsonValue, Run, RunState, Speculation
from engines import BY_NAME

MOST_VALUES = 64  # of one field
NONE_WORDS = ("none", "unset")
DRAFT_TOKENS = "speculative.num_tokens"
_RANGE = re.compile(r"(-?\d{1,18})\s*\.\.\s*(-?\d{1,18})$")  # more digits are no number of anything


class Axis(NamedTuple):
    """One field ('speculative.num_tokens' for a nested one) and the values it takes; None leaves it unsaid."""

    field: str
    values: tuple[JsonValue, ...]


class Variant(NamedTuple):
    """One configuration of a sweep, named after what was varied: 'num_tokens 3, kv_cache_dtype fp8'."""

    name: str
    config: Config


@dataclass(frozen=True, slots=True)
class Estimate:
    """How long runs will take together, in seconds; None where it is not known, and always why or from what."""

    seconds: float | None
    basis: str


def field_named(name: str, config: Config) -> str:
    """The field of this name, or the one that its engine's flag of this name says; raises CommandError.

    'max_num_seqs', 'speculative.num_tokens'; 'gpu_memory_utilization' is gpu_memory_fraction where the engine says so.
    """
    outer, _, inner = name.partition(".")
    if name in SERVER_FIELDS or (outer == "speculative" and inner in Speculation.model_fields):
        return name
    engine = BY_NAME.get(config.engine)
    if engine and engine.commands:
        for field, said in engine.commands.read_command([f"--{name.replace('_', '-')}", "1"], {}).fields.items():
            return f"{field}.{next(iter(said))}" if isinstance(said, dict) else field
    raise CommandError(f"There is no field {name[:80]}.")


def read_values(field: str, text: str) -> tuple[JsonValue, ...]:
    """'0..3, 8, none' as (0, 1, 2, 3, 8, None), in the field's own type; raises CommandError in words."""
    return read_words(field, text, lambda word: _typed(field, word))


def read_words(field: str, text: str, typed: Callable[[str], JsonValue]) -> tuple[JsonValue, ...]:
    """The same, of anything: `typed` makes a value of a word, and raises where that is none."""
    found: list[JsonValue] = []
    for part in (part.strip() for part in text.split(",") if part.strip()):
        for word in _expand(part):
            value = None if word.lower() in NONE_WORDS else typed(word)
            if value not in found or isinstance(value, bool):
                found.append(value)
    if not found:
        raise CommandError(f"There are no values for {field}.")
    if len(found) > MOST_VALUES:
        raise CommandError(f"{len(found)} values for {field} are more than a sweep takes ({MOST_VALUES}).")
    return tuple(found)


def _expand(part: str) -> list[str]:
    match = _RANGE.match(part)
    if not match:
        return [part]
    first, last = int(match[1]), int(match[2])
    if last < first or last - first >= MOST_VALUES:
        raise CommandError(f"{part} is no range of at most {MOST_VALUES} values from low to high.")
    return [str(number) for number in range(first, last + 1)]


def checked_values(field: str, values: Sequence[JsonValue]) -> tuple[JsonValue, ...]:
    """The same values in the field's own type, None among them; raises CommandError."""
    return tuple(None if value is None else _typed(field, value) for value in values)


def _typed(field: str, word: JsonValue) -> JsonValue:
    owner, name = (Speculation, field.partition(".")[2]) if "." in field else (Config, field)
    known = owner.model_fields.get(name)
    if known is None:
        raise CommandError(f"There is no field {field}.")
    try:
        return TypeAdapter(known.rebuild_annotation()).validate_python(word)
    except ValidationError:
        raise CommandError(f"{word} is not a value for {field}.") from None


def sweep_configs(base: Config, axes: Sequence[Axis]) -> list[Variant]:
    """Every combination of the values, the last axis turning fastest; raises CommandError when one cannot be said.

    A draft length of 0 is the configuration without speculation.
    """
    if len({axis.field for axis in axes}) < len(axes):
        raise CommandError("Each field can be varied once.")
    return [_variant(base, axes, values) for values in itertools.product(*(axis.values for axis in axes))]


def _variant(base: Config, axes: Sequence[Axis], values: Sequence[JsonValue]) -> Variant:
    config, words = base, list[str]()
    for axis, value in zip(axes, values, strict=True):
        config = _set_field(config, axis.field, value)
        words.append(_words(axis.field, value))
    argv = command_of(config)
    for axis, value in zip(axes, values, strict=True):
        _check_said(config, argv, axis.field, value)
    return Variant(", ".join(words), config.model_copy(update={"argv": tuple(argv)}))


def _words(field: str, value: JsonValue) -> str:
    if field == DRAFT_TOKENS and not value:
        return "no speculation"
    return f"{field.rpartition('.')[2]} {'none' if value is None else value}"


def _set_field(config: Config, field: str, value: JsonValue) -> Config:
    outer, _, inner = field.partition(".")
    if not inner:
        return config.model_copy(update={outer: value})
    if field == DRAFT_TOKENS and not value:
        return config.model_copy(update={"speculative": None})
    if config.speculative is None and inner != "method":
        raise CommandError(f"{field} cannot be varied: the configuration has no speculation.")
    speculation = (config.speculative or Speculation()).model_copy(update={inner: value})
    return config.model_copy(update={"speculative": speculation})


def _check_said(config: Config, argv: Sequence[str], field: str, value: JsonValue) -> None:
    """A value that does not come back from the command was not said by it."""
    read = read_argv(argv, config.env)
    if read is None or value_at(read, field) != value_at(config, field):
        raise CommandError(f"{field} {value} cannot be said in this command of {config.engine}.")


def value_at(config: Config, field: str) -> JsonValue:
    """What a config says in a field."""
    outer, _, inner = field.partition(".")
    value = getattr(config, outer)
    return getattr(value, inner) if inner and value is not None else value


def estimate(count: int, workload: str, earlier: Sequence[Run], config: Config) -> Estimate:
    """The time for `count` runs of a workload: the median of those like them that went through, else of any."""
    ended = [r for r in earlier if r.state is RunState.FINISHED and r.workload_names == workload]
    alike = [r for r in ended if (r.config.engine, r.config.model) == (config.engine, config.model)]
    for known, words in ((alike, "of this engine and model"), (ended, "of any model")):
        seconds = [(r.ended_at - r.started_at).total_seconds() for r in known if r.started_at and r.ended_at]
        if seconds:
            basis = f"median of {len(seconds)} finished run{'s' * (len(seconds) > 1)} of this workload {words}"
            return Estimate(count * statistics.median(seconds), basis)
    return Estimate(None, "no run of this workload has finished yet")
