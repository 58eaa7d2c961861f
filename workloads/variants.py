"""Varies one parameter of a load: the parameters that can vary, their values, and the resulting loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from domain import JsonValue
from workloads import REGISTRY
from workloads.texts.prompt_file import PlanError


class LoadVariant(NamedTuple):
    """A load of a sweep, named after its varied parameter: 'concurrency 8'; the unvaried load has no name."""

    name: str
    params: Mapping[str, JsonValue]


def variable_params(workload: str) -> list[str]:
    """Return the parameters that take a single number, choice or switch."""
    return [name for name, field in REGISTRY[workload].params_type.model_fields.items() if _is_scalar(field)]


def read_param(workload: str, name: str, text: str) -> JsonValue:
    """Parse a parameter's value as the user writes it; raises PlanError."""
    field = REGISTRY[workload].params_type.model_fields[name]
    try:
        return TypeAdapter(field.rebuild_annotation()).validate_python(text)
    except ValidationError as error:
        raise PlanError(f"{text} is not a value for {name}: {error.errors(include_url=False)[0]['msg']}.") from None


def load_variants(
    workload: str, params: Mapping[str, JsonValue], name: str, values: Sequence[JsonValue]
) -> list[LoadVariant]:
    """Return the load with each of the values; raises PlanError if one conflicts with its other parameters."""
    return [_variant(workload, params, name, value) for value in values]


def _variant(workload: str, params: Mapping[str, JsonValue], name: str, value: JsonValue) -> LoadVariant:
    try:
        valid_params = REGISTRY[workload].validate_params({**params, name: value})
    except ValidationError as error:
        raise PlanError(f"{name} {value}: {error.errors(include_url=False)[0]['msg']}.") from None
    value_text = "none" if value is None else value
    return LoadVariant(f"{name} {value_text}", valid_params.model_dump(mode="json"))


def _is_scalar(field: FieldInfo) -> bool:
    types = [member for member in _union_members(field.annotation) if member is not type(None)]
    return all(kind in (int, float, bool) or get_origin(kind) is Literal for kind in types)


def _union_members(annotation: Any) -> tuple[Any, ...]:
    return (annotation,) if get_origin(annotation) in (None, Literal, list, tuple) else get_args(annotation)
