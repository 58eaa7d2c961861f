"""What a study of a setting varies: the arms that the values of one, two or more fields make."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from analysis.study.proposal import check_installed
from commands.sweep import Axis, checked_values, field_named, read_values, sweep_configs
from commands.write import CommandError
from domain import Config, JsonValue

MOST_ARMS = 32
MOST_IN_GRID = 2  # more settings are proposed, not all combined


class Vary(BaseModel):
    """A field of the one arm, and the values that are tried: a list, or as on the page Sweep, '0..4, 8'."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    field: str = Field(min_length=1, max_length=80)
    values: Annotated[list[JsonValue], Field(min_length=1, max_length=MOST_ARMS)] | str
    most_step_gain: float | None = Field(default=None, gt=1.0)  # assumed; see analysis.study.prediction


class Variant(NamedTuple):
    """One combination of values; `choice`: of a proposed one, which value of each setting, from 0."""

    name: str
    config: Config
    choice: tuple[int, ...] = ()


def varied(base: Config, vary: list[Vary]) -> tuple[list[Variant], list[Vary]]:
    """Each value, or combination of two fields' values, of more the first; and what is varied, by our names, in full.

    Raises CommandError for values that cannot be tried, OptunaMissingError where more fields need it.
    """
    in_full = [_in_full(one, base) for one in vary]
    if len(in_full) > MOST_IN_GRID:
        return [_first_choice(base, in_full)], in_full
    variants = sweep_configs(base, [Axis(one.field, tuple(one.values)) for one in in_full])
    names = [one.name for one in variants]
    if not 2 <= len(set(names)) == len(names) <= MOST_ARMS:
        raise CommandError(f"[[vary]] takes 2 to {MOST_ARMS} values that differ, not {', '.join(names)[:200]}.")
    return [Variant(one.name, one.config) for one in variants], in_full


def _first_choice(base: Config, in_full: list[Vary]) -> Variant:
    """The first value of each setting; every other one is said once, so that what cannot be is refused now."""
    check_installed()
    found: list[Variant] = []
    for one_varied in in_full:
        if len(one_varied.values) < 2:
            raise CommandError(f"[[vary]] of {one_varied.field} has one value.")
        axes = [Axis(one.field, tuple(one.values if one is one_varied else one.values[:1])) for one in in_full]
        first, *_ = sweep_configs(base, axes)
        found.append(Variant(first.name, first.config, (0,) * len(in_full)))
    return found[0]


def _in_full(vary: Vary, config: Config) -> Vary:
    field = field_named(vary.field, config)
    values = read_values(field, vary.values) if isinstance(vary.values, str) else checked_values(field, vary.values)
    return vary.model_copy(update={"field": field, "values": list(values)})
