"""The parameters of a workload on the page: an input for each field, with the bounds that the workload sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

import streamlit as st
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from domain import WATCH, JsonValue
from workloads import REGISTRY


def choose_params(workload: str, proposed: Mapping[str, JsonValue], key: str) -> dict[str, JsonValue]:
    """What the person set, in a popover; `proposed` are those of the run that this one repeats or changes.

    Values that the workload refuses are told, and the proposed ones hold.
    """
    if workload == WATCH.name:
        return {}
    known = REGISTRY[workload]
    defaults = known.params_type.model_validate(dict(proposed)).model_dump(mode="json")
    with st.popover("Load settings", icon=":material/tune:", help=known.summary):
        fields = known.params_type.model_fields.items()
        given = {name: _input(name, field, defaults[name], f"{key}-{workload}-{name}") for name, field in fields}
    try:
        checked = known.params_type.model_validate(given)
    except ValidationError as error:
        st.error(f"{sentence_of(error)} The load is as it was proposed.")
        return defaults
    st.caption(planned(workload, checked.model_dump(mode="json")))
    return checked.model_dump(mode="json")


def planned(workload: str, params: Mapping[str, JsonValue]) -> str:
    """'14 requests and 1 to warm up, at most 9,792 tokens'."""
    plan = REGISTRY[workload].plan(params)
    warm = sum(len(phase.requests) for phase in plan if phase.kind == "warmup")
    measured = sum(len(phase.requests) for phase in plan) - warm
    tokens = sum(request.max_tokens for phase in plan for request in phase.requests)
    return f"{measured} requests and {warm} to warm up, at most {tokens:,} output tokens."


def sentence_of(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    return f"{title_of(str(first['loc'][0])) if first['loc'] else 'The load'}: {first['msg']}."


def title_of(name: str) -> str:
    """'token_scale' as a label: 'Token scale'."""
    return name.replace("_", " ").capitalize()


def _input(name: str, field: FieldInfo, value: JsonValue, key: str) -> JsonValue:
    """The input that fits the field's type."""
    title, kind = title_of(name), field.annotation
    if kind is bool:
        return st.checkbox(title, bool(value), key=key)
    if get_origin(kind) is Literal:
        options = list(get_args(kind))
        return st.selectbox(title, options, options.index(value), key=key)
    if kind is int:
        return int(st.number_input(title, *_bounds(field, int), value=int(value), step=1, key=key))
    if kind is float:
        return float(st.number_input(title, *_bounds(field, float), value=float(value), step=0.05, key=key))
    text = st.text_input(title, ", ".join(map(str, value)), key=key, help="numbers with commas between them")
    return [part.strip() for part in text.split(",") if part.strip()]


def _bounds(field: FieldInfo, kind: type[Any]) -> tuple[Any, Any]:
    """The least and the most that the field takes, None where it does not say; what must be above 0 begins at 0.01."""
    low = next((kind(one.ge) for one in field.metadata if getattr(one, "ge", None) is not None), None)
    above = next((one.gt for one in field.metadata if getattr(one, "gt", None) is not None), None)
    high = next((kind(one.le) for one in field.metadata if getattr(one, "le", None) is not None), None)
    return (0.01 if low is None and above == 0 else low), high
