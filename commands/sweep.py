"""Sweeps: varies fields of a configuration over given values; every combination is a configuration."""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from analysis.comparison.setting_words import setting_text
from commands.edit import SERVER_FIELDS
from commands.explain import read_argv
from commands.write import CommandError, command_of
from domain import Config, JsonValue, Run, RunState, Speculation
from engines import BY_NAME

MOST_VALUES = 64  # of one field
NONE_WORDS = ("none", "unset")
DRAFT_TOKENS = "speculative.num_tokens"
_RANGE = re.compile(r"(-?\d{1,18})\s*\.\.\s*(-?\d{1,18})$")  # limits the number of digits


class Axis(NamedTuple):
    """One field ('speculative.num_tokens' for a nested one) and its values; None leaves it unset."""

    field: str
    values: tuple[JsonValue, ...]


class SweepVariant(NamedTuple):
    """One configuration of a sweep, named after its varied values: 'num_tokens 3, kv_cache_dtype fp8'."""

    name: str
    config: Config


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated total duration of runs in seconds, None if unknown, and the basis of the estimate."""

    seconds: float | None
    basis: str


def field_named(name: str, config: Config) -> str:
    """Return the field with this name, or the field of the engine's flag with this name; raises CommandError.

    'max_num_seqs', 'speculative.num_tokens'; 'gpu_memory_utilization' is gpu_memory_fraction for some engines.
    """
    outer, _, inner = name.partition(".")
    if name in SERVER_FIELDS or (outer == "speculative" and inner in Speculation.model_fields):
        return name
    engine = BY_NAME.get(config.engine)
    if engine and engine.commands:
        for field, value in engine.commands.read_command([f"--{name.replace('_', '-')}", "1"], {}).fields.items():
            return f"{field}.{next(iter(value))}" if isinstance(value, dict) else field
    raise CommandError(f"There is no field {name[:80]}.")


def read_values(field: str, text: str) -> tuple[JsonValue, ...]:
    """Read '0..3, 8, none' as (0, 1, 2, 3, 8, None), in the field's type; raises CommandError."""
    return read_words(field, text, lambda word: _parse_value(field, word))


def read_words(field: str, text: str, parse_word: Callable[[str], JsonValue]) -> tuple[JsonValue, ...]:
    """Read values in the same syntax; `parse_word` converts a word to a value, and raises if it is invalid."""
    values: list[JsonValue] = []
    for part in (part.strip() for part in text.split(",") if part.strip()):
        for word in _expand(part):
            value = None if word.lower() in NONE_WORDS else parse_word(word)
            if value not in values or isinstance(value, bool):
                values.append(value)
    if not values:
        raise CommandError(f"There are no values for {field}.")
    if len(values) > MOST_VALUES:
        raise CommandError(f"{len(values)} values for {field} are too many; the limit is {MOST_VALUES}.")
    return tuple(values)


def _expand(part: str) -> list[str]:
    match = _RANGE.match(part)
    if not match:
        return [part]
    first, last = int(match[1]), int(match[2])
    if last < first or last - first >= MOST_VALUES:
        raise CommandError(f"{part} is not a range from low to high with at most {MOST_VALUES} values.")
    return [str(number) for number in range(first, last + 1)]


def checked_values(field: str, values: Sequence[JsonValue]) -> tuple[JsonValue, ...]:
    """Return the values in the field's type, including None; raises CommandError."""
    return tuple(None if value is None else _parse_value(field, value) for value in values)


def _parse_value(field: str, word: JsonValue) -> JsonValue:
    owner, name = (Speculation, field.partition(".")[2]) if "." in field else (Config, field)
    field_info = owner.model_fields.get(name)
    if field_info is None:
        raise CommandError(f"There is no field {field}.")
    try:
        return TypeAdapter(field_info.rebuild_annotation()).validate_python(word)
    except ValidationError:
        raise CommandError(f"{word} is not a value for {field}.") from None


def sweep_configs(base: Config, axes: Sequence[Axis]) -> list[SweepVariant]:
    """Return every combination of the values, the last axis varying fastest.

    A draft length of 0 is the configuration without speculation. Raises CommandError if a command cannot express one.
    """
    if len({axis.field for axis in axes}) < len(axes):
        raise CommandError("Each field can be varied only once.")
    return [_variant(base, axes, values) for values in itertools.product(*(axis.values for axis in axes))]


def _variant(base: Config, axes: Sequence[Axis], values: Sequence[JsonValue]) -> SweepVariant:
    config, titles = base, list[str]()
    for axis, value in zip(axes, values, strict=True):
        config = _set_field(config, axis.field, value)
        titles.append(_value_title(axis.field, value))
    argv = command_of(config)
    for axis, value in zip(axes, values, strict=True):
        _check_expressible(config, argv, axis.field, value)
    return SweepVariant(", ".join(titles), config.model_copy(update={"argv": tuple(argv)}))


def _value_title(field: str, value: JsonValue) -> str:
    if field == DRAFT_TOKENS and not value:
        return "no speculation"
    return setting_text(field, value)


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


def _check_expressible(config: Config, argv: Sequence[str], field: str, value: JsonValue) -> None:
    """Raise CommandError if reading the command does not return the value."""
    reread = read_argv(argv, config.env)
    if reread is None or value_at(reread, field) != value_at(config, field):
        raise CommandError(f"{field} {value} cannot be expressed in this {config.engine} command.")


def value_at(config: Config, field: str) -> JsonValue:
    """Return the value of a config's field."""
    outer, _, inner = field.partition(".")
    value = getattr(config, outer)
    return getattr(value, inner) if inner and value is not None else value


def estimate(count: int, workload: str, earlier: Sequence[Run], config: Config) -> Estimate:
    """Estimate the time for `count` runs of a workload: the median of finished runs as like it as there are."""
    finished = [r for r in earlier if r.state is RunState.FINISHED and r.workload_names == workload]
    similar = [r for r in finished if (r.config.engine, r.config.model) == (config.engine, config.model)]
    same = [r for r in similar if r.config.fingerprint == config.fingerprint]
    for matching_runs, description in (
        (same, "and configuration"),
        (similar, "of this engine and model"),
        (finished, "of any model"),
    ):
        seconds = [(r.ended_at - r.started_at).total_seconds() for r in matching_runs if r.started_at and r.ended_at]
        if seconds:
            basis = f"median of {len(seconds)} finished run{'s' * (len(seconds) > 1)} of this workload {description}"
            return Estimate(count * statistics.median(seconds), basis)
    return Estimate(None, "no run of this workload has finished yet")
