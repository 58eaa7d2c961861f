"""The varied settings of a study: arms from the values of one, two or more fields."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from analysis.study.proposal import check_installed
from commands.sweep import Axis, checked_values, field_named, read_values, sweep_configs
from commands.write import CommandError
from domain import Config, JsonValue

MOST_ARMS = 32
MAX_GRID_SETTINGS = 2  # with more settings, combinations are proposed instead


class Vary(BaseModel):
    """A field of the arm and its values: a list, or text as on the page Sweep, '0..4, 8'."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    field: str = Field(min_length=1, max_length=80)
    values: Annotated[list[JsonValue], Field(min_length=1, max_length=MOST_ARMS)] | str
    most_step_gain: float | None = Field(default=None, gt=1.0)  # assumed; see analysis.study.prediction


class StudyVariant(NamedTuple):
    """One combination of values; `choice`: for a proposed one, the index of each setting's value, from 0."""

    name: str
    config: Config
    choice: tuple[int, ...] = ()


def vary_config(base: Config, vary: list[Vary]) -> tuple[list[StudyVariant], list[Vary]]:
    """Return the variants and the completed settings: all combinations of up to two fields, else only the first.

    Raises CommandError for invalid values, OptunaMissingError if more fields need it.
    """
    full_settings = [_completed(setting, base) for setting in vary]
    if len(full_settings) > MAX_GRID_SETTINGS:
        return [_first_choice(base, full_settings)], full_settings
    variants = sweep_configs(base, [Axis(setting.field, tuple(setting.values)) for setting in full_settings])
    names = [variant.name for variant in variants]
    if not 2 <= len(set(names)) == len(names) <= MOST_ARMS:
        raise CommandError(f"[[vary]] takes 2 to {MOST_ARMS} values that differ, not {', '.join(names)[:200]}.")
    return [StudyVariant(variant.name, variant.config) for variant in variants], full_settings


def _first_choice(base: Config, full_settings: list[Vary]) -> StudyVariant:
    """The variant with the first value of each setting; every other value is tried once, to refuse invalid ones now."""
    check_installed()
    variants: list[StudyVariant] = []
    for varied_setting in full_settings:
        if len(varied_setting.values) < 2:
            raise CommandError(f"[[vary]] of {varied_setting.field} has a single value.")
        axes = [
            Axis(setting.field, tuple(setting.values if setting is varied_setting else setting.values[:1]))
            for setting in full_settings
        ]
        first, *_ = sweep_configs(base, axes)
        variants.append(StudyVariant(first.name, first.config, (0,) * len(full_settings)))
    return variants[0]


def _completed(vary: Vary, config: Config) -> Vary:
    field = field_named(vary.field, config)
    values = read_values(field, vary.values) if isinstance(vary.values, str) else checked_values(field, vary.values)
    return vary.model_copy(update={"field": field, "values": list(values)})
