"""Varies one parameter of a load: what may be varied, its values, and the resulting loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from domain import JsonValue
from workloads import REGISTRY
from workloads.texts.prompt_file import PlanError


class LoadVariant(NamedTuple):
    """A load of a sweep, named after what was varied: 'concurrency 8'; as it was, without a name."""

    name: str
    params: Mapping[str, JsonValue]


def variable_params(workload: str) -> list[str]:
    """The parameters that take one number, word or switch each."""
    return [name for name, field in REGISTRY[workload].params_type.model_fields.items() if _is_scalar(field)]


def read_param(workload: str, name: str, word: str) -> JsonValue:
    """A value of a parameter as a person writes it; raises PlanError."""
    field = REGISTRY[workload].params_type.model_fields[name]
    try:
        return TypeAdapter(field.rebuild_annotation()).validate_python(word)
    except ValidationError as error:
        raise PlanError(f"{word} is not a value for {name}: {error.errors(include_url=False)[0]['msg']}.") from None


def load_variants(
    workload: str, params: Mapping[str, JsonValue], name: str, values: Sequence[JsonValue]
) -> list[LoadVariant]:
    """The load with each of the values; raises PlanError where it refuses one beside its other parameters."""
    return [_variant(workload, params, name, value) for value in values]


def _variant(workload: str, params: Mapping[str, JsonValue], name: str, value: JsonValue) -> LoadVariant:
    try:
        checked = REGISTRY[workload].checked({**params, name: value})
    except ValidationError as error:
        raise PlanError(f"{name} {value}: {error.errors(include_url=False)[0]['msg']}.") from None
    word = "none" if value is None else value
    return LoadVariant(f"{name} {word}", checked.model_dump(mode="json"))


def _is_scalar(field: FieldInfo) -> bool:
    kinds = [kind for kind in _arms(field.annotation) if kind is not type(None)]
    return all(kind in (int, float, bool) or get_origin(kind) is Literal for kind in kinds)


def _arms(kind: Any) -> tuple[Any, ...]:
    return (kind,) if get_origin(kind) in (None, Literal, list, tuple) else get_args(kind)
